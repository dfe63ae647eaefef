// A context of its own for each test; in a person's own browser there is but one, so what a test opened in it is
// closed after it.
import { OWN } from './env.mjs';

/** Somebody else may have closed it in the meantime, but then its client has been told. */
const closed = (page) => page.close().catch((error) => {
  if (!page.isClosed()) throw error;
});

export async function newPlaywrightContext(browser, options) {
  if (!OWN) {
    const context = await browser.newContext(options);
    return { context, close: () => context.close() };
  }
  const [context] = browser.contexts();
  const before = new Set(context.pages());
  return {
    context,
    async close() {
      const opened = context.pages().filter((page) => !before.has(page));
      await context.unrouteAll({ behavior: 'ignoreErrors' });
      await Promise.all(opened.map(closed));
    },
  };
}

export async function newPuppeteerContext(browser) {
  if (!OWN) {
    const context = await browser.createBrowserContext();
    return { context, close: () => context.close() };
  }
  const context = browser.defaultBrowserContext();
  const before = new Set(await context.pages());
  return {
    context,
    async close() {
      const opened = (await context.pages()).filter((page) => !before.has(page));
      await Promise.all(opened.map(closed));
    },
  };
}
