// A real Chromium with a copy of the extension, looked at through its own debugging port.
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Cdp } from '../../e2e/lib/cdp.mjs';
import { Chromium } from '../../e2e/lib/chromium.mjs';
import { processesOf } from '../../e2e/lib/processes.mjs';
import { until } from '../../e2e/lib/until.mjs';

export const EXTENSION = fileURLToPath(new URL('../../../extension', import.meta.url));
export const EXTENSION_ID = 'nlcjnmooldebpaifhfmfhceebioniojj';
const ORIGIN = `chrome-extension://${EXTENSION_ID}`;

/** A copy below `root`, with what it finds at its first start: {hub, instance, key, policy}. */
export async function copyExtension(root, preset) {
  const copy = join(root, 'extension');
  await cp(EXTENSION, copy, { recursive: true });
  if (preset) await writeFile(join(copy, 'preset.json'), JSON.stringify(preset));
  return copy;
}

/** What the person would have been asked for: a headless browser cannot show the question. */
export async function grantAll(copy) {
  const path = join(copy, 'manifest.json');
  const manifest = JSON.parse(await readFile(path, 'utf8'));
  manifest.permissions.push(...manifest.optional_permissions);
  manifest.host_permissions.push(...manifest.optional_host_permissions);
  delete manifest.optional_permissions;
  delete manifest.optional_host_permissions;
  await writeFile(path, JSON.stringify(manifest));
}

export class Browser {
  /** `change(copy, profile)` may edit the copy of the extension before it is loaded; `beside` are other extensions. */
  static async start({ preset, flags = [], change, beside = [] } = {}) {
    const browser = new Browser();
    browser.root = await mkdtemp(join(tmpdir(), 'bowline-extension-'));
    const copy = await copyExtension(browser.root, preset);
    const profile = join(browser.root, 'profile');
    await change?.(copy, profile);
    browser.chromium = await Chromium.start({ profile, flags: [`--load-extension=${[copy, ...beside]}`, ...flags] });
    browser.cdp = await Cdp.connect(browser.chromium.ws);
    return browser;
  }

  async targets(fits) {
    const { targetInfos } = await this.cdp.send('Target.getTargets');
    return targetInfos.filter(fits);
  }

  /** A session with the running service worker. */
  async worker() {
    const target = await until('the service worker', async () =>
      (await this.targets(({ type, url }) => type === 'service_worker' && url.startsWith(ORIGIN)))[0]);
    const { sessionId } = await this.cdp.send('Target.attachToTarget', { targetId: target.targetId, flatten: true });
    return { targetId: target.targetId, sessionId };
  }

  /** Evaluates in the service worker, and leaves it alone afterwards: a session keeps a worker alive. */
  async inWorker(expression) {
    const { sessionId } = await this.worker();
    try {
      await until('the worker has begun', () => this.cdp.evaluate('typeof chrome === "object"', sessionId));
      return await this.cdp.evaluate(expression, sessionId);
    } finally {
      await this.cdp.send('Target.detachFromTarget', { sessionId }).catch(() => {});
    }
  }

  /** Ends the worker as Chrome does it to an idle one; `browser.targets` shows it gone. */
  async killWorker() {
    const { targetId, sessionId } = await this.worker();
    await this.cdp.send('Target.detachFromTarget', { sessionId });
    await this.cdp.send('Target.closeTarget', { targetId });
    return until('the worker is gone', async () => (await this.targets((one) => one.targetId === targetId)).length === 0);
  }

  /** The process that the worker runs in. */
  workerPid() {
    return processesOf(this.root).find(({ command }) => command.includes('--extension-process')).pid;
  }

  async page(url) {
    const { targetId, sessionId } = await this.cdp.page(url);
    return { targetId, sessionId, evaluate: (expression) => this.cdp.evaluate(expression, sessionId) };
  }

  /** The popup as a page of its own, in the size that the toolbar would give it. */
  async popup({ dark = false, height = 600 } = {}) {
    const page = await this.page('about:blank');
    const ask = (method, params) => this.cdp.send(method, params, page.sessionId);
    await ask('Emulation.setDeviceMetricsOverride', { width: 360, height, deviceScaleFactor: 2, mobile: false });
    await ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
    await ask('Page.enable');
    await ask('Page.navigate', { url: `${ORIGIN}/popup/popup.html` });
    await until('the popup shows something', () => page.evaluate('document.body?.dataset.ready'));
    return {
      ...page,
      ask,
      text: (selector) => page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`),
      click: (selector) => this.cdp.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`, page.sessionId, { userGesture: true }),
      screenshot: async (path) => writeFile(path, Buffer.from((await ask('Page.captureScreenshot', { format: 'png' })).data, 'base64')),
      close: () => this.cdp.send('Target.closeTarget', { targetId: page.targetId }),
    };
  }

  async stop() {
    await this.cdp.close().catch(() => {});
    await this.chromium.stop();
    await rm(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}
