// Playwright over connectOverCDP: pages and what lives in them.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from './lib/test.mjs';
import { chromium } from 'playwright-core';
import { newPlaywrightContext } from './lib/contexts.mjs';
import { fixture } from './lib/fixture.mjs';
import { browserWs } from './lib/http.mjs';
import { within } from './lib/until.mjs';

let browser, context, close, page;
const at = fixture({
  async open({ target }) {
    browser = await chromium.connectOverCDP(target.endpoint);
  },
  close: () => browser?.close(),
});

beforeEach(async () => {
  ({ context, close } = await newPlaywrightContext(browser));
  context.setDefaultTimeout(10_000);
  page = await context.newPage();
});
afterEach(() => close());

/** In a person's own browser a service worker would stay for the tests that follow. */
const UNREGISTER = () => navigator.serviceWorker.getRegistration().then((known) => known.unregister());

test('connects by http URL with a slash, and by ws URL', async () => {
  for (const url of [`${at.target.endpoint}/`, await browserWs(at.target.endpoint)]) {
    const other = await chromium.connectOverCDP(url);
    assert.match(other.version(), /^\d+\.\d+/);
    assert.equal(other.contexts().length >= 1, true);
    await other.close();
  }
  assert.equal(browser.isConnected(), true);
});

test('the default context has a page that can be driven', async () => {
  const [main] = browser.contexts();
  const tab = main.pages()[0] ?? (await main.newPage());
  await tab.goto(at.site.url('/'));
  assert.equal(await tab.title(), 'home');
  await tab.goto('about:blank');
});

test('navigates: goto, link, back, forward, reload', async () => {
  const response = await page.goto(at.site.url('/'));
  assert.equal(response.status(), 200);
  await page.click('#two');
  await page.waitForURL('**/two');
  await page.goto(at.site.url('/three'));
  // Only the commit: a page restored from the back-forward cache fires no load event.
  const restored = { waitUntil: 'commit' };
  await page.goBack(restored);
  assert.equal(await page.title(), 'two');
  await page.goBack(restored);
  assert.equal(await page.title(), 'home');
  await page.goForward(restored);
  assert.equal(await page.title(), 'two');
  assert.equal((await page.reload()).ok(), true);
  assert.equal(await page.evaluate(() => history.length), 4);
  assert.equal((await page.goto(at.site.url('/missing'))).status(), 404);
});

test('history.pushState and hash changes are seen', async () => {
  await page.goto(at.site.url('/'));
  await page.evaluate(() => history.pushState({}, '', '/pushed'));
  await page.waitForURL('**/pushed');
  await page.evaluate(() => { location.hash = 'knot'; });
  await page.waitForURL('**/pushed#knot');
});

test('a popup of window.open is attached and has its opener', async () => {
  await page.goto(at.site.url('/popups'));
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#open')]);
  await popup.waitForURL('**/two?popup');
  assert.equal(await popup.title(), 'two');
  assert.equal(await popup.opener(), page);
  await popup.close();
  assert.equal(await page.evaluate(() => window.child.closed), true);
});

test('a link with target=_blank opens a popup, also without opener', async () => {
  await page.goto(at.site.url('/popups'));
  const before = context.pages().length - 1;
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#blank')]);
  await popup.waitForURL('**/two?blank');
  const [bare] = await Promise.all([context.waitForEvent('page'), page.click('#noopener')]);
  await bare.waitForURL('**/two?noopener');
  assert.equal(context.pages().filter((open) => open !== page).length - before, 2);
});

test('a cross-origin iframe can be evaluated in and clicked', async () => {
  await page.goto(at.site.url('/frames'));
  const frame = page.frames().find((f) => f.url() === `${at.site.other}/frame?other`);
  assert.ok(frame, 'the frame of the other origin is known');
  assert.equal(await frame.evaluate(() => location.hostname), 'localhost');
  await frame.click('#hit');
  await page.frameLocator('#other').locator('#hit').click();
  assert.equal(await frame.title(), 'hit 2');
  const same = page.frames().find((f) => f.url() === at.site.url('/frame?same'));
  await same.click('#hit');
  assert.equal(await same.title(), 'hit 1');
});

test('a cross-origin iframe runs in a target of its own', async () => {
  await page.goto(at.site.url('/frames'));
  const frame = page.frames().find((f) => f.url().startsWith(at.site.other));
  const session = await context.newCDPSession(frame);
  const { result } = await session.send('Runtime.evaluate', { expression: 'location.hostname' });
  assert.equal(result.value, 'localhost');
});

test('a dedicated worker is seen and evaluated in', async () => {
  const [worker] = await Promise.all([
    page.waitForEvent('worker'), page.goto(at.site.url('/workers')),
  ]);
  assert.equal(worker.url(), at.site.url('/worker.js'));
  assert.equal(await worker.evaluate(() => self.kind), 'dedicated');
  await page.getByText('worker says 21').waitFor();
  const closed = worker.waitForEvent('close');
  await page.goto('about:blank');
  await closed;
});

test('a service worker is seen and answers for the page', async () => {
  const [worker] = await Promise.all([
    context.waitForEvent('serviceworker'), page.goto(at.site.url('/service')),
  ]);
  assert.equal(await worker.evaluate(() => self.kind), 'service');
  await page.waitForFunction(() => document.title === 'service ready' && navigator.serviceWorker.controller);
  assert.equal(await page.evaluate(() => fetch('/from-sw').then((r) => r.text())), 'from the service worker');
  await page.evaluate(UNREGISTER);
});

test('a shared worker runs', async () => {
  await page.goto(at.site.url('/shared'));
  await page.waitForFunction(() => document.title === 'shared ready');
});

test('dialogs: alert, confirm and prompt get the answers given', async () => {
  await page.goto(at.site.url('/dialogs'));
  const seen = [];
  page.on('dialog', async (dialog) => {
    seen.push(`${dialog.type()}:${dialog.message()}:${dialog.defaultValue()}`);
    await dialog.accept(dialog.type() === 'prompt' ? 'typed' : undefined);
  });
  await page.click('#go');
  assert.deepEqual(seen, ['alert:one:', 'confirm:two:', 'prompt:three:preset']);
  assert.deepEqual(await page.evaluate(() => window.answers.slice(1)), [true, 'typed']);
});

test('dialogs that nobody listens for are dismissed', async () => {
  await page.goto(at.site.url('/dialogs'));
  await page.click('#go');
  assert.deepEqual(await page.evaluate(() => window.answers.slice(1)), [false, null]);
});

test('a beforeunload dialog can keep or leave the page', async () => {
  await page.goto(at.site.url('/beforeunload'));
  await page.click('#touch');
  const asked = page.waitForEvent('dialog');
  const stayed = assert.rejects(page.goto(at.site.url('/two'), { timeout: 10_000 }));
  const first = await asked;
  assert.equal(first.type(), 'beforeunload');
  await first.dismiss();
  await stayed;
  assert.equal(await page.title(), 'beforeunload');
  page.once('dialog', (dialog) => dialog.accept());
  await page.goto(at.site.url('/two'));
  assert.equal(await page.title(), 'two');
});

test('init scripts run before the page does, also in cross-origin frames', async () => {
  await context.addInitScript(() => { window.early = 'early'; });
  await page.goto(at.site.url('/two'));
  assert.equal(await page.evaluate(() => window.sawEarly), 'early');
  await page.goto(at.site.url('/frames'));
  const frame = page.frames().find((f) => f.url().startsWith(at.site.other));
  assert.equal(await frame.evaluate(() => window.sawEarly), 'early');
});

test('init scripts run before a popup does', async () => {
  await context.addInitScript(() => { window.early = 'early'; });
  await page.goto(at.site.url('/popups'));
  for (const [link, url] of [['#open', '**/two?popup'], ['#noopener', '**/two?noopener']]) {
    const [popup] = await Promise.all([context.waitForEvent('page'), page.click(link)]);
    await popup.waitForURL(url);
    assert.equal(await popup.evaluate(() => window.sawEarly), 'early', link);
  }
});

test('init scripts run before the second document of a popup does', async () => {
  await context.addInitScript(() => { window.early = 'early'; });
  await page.goto(at.site.url('/popups'));
  for (const [link, url] of [['#open', '**/two?popup'], ['#noopener', '**/two?noopener']]) {
    const [popup] = await Promise.all([context.waitForEvent('page'), page.click(link)]);
    await popup.waitForURL(url);
    assert.equal(await popup.evaluate(() => window.early), 'early', link);
    await popup.goto(at.site.url('/two?again'));
    assert.equal(await popup.evaluate(() => window.sawEarly), 'early', link);
  }
});

test('exposed functions and bindings are callable from page, popup and frame', async () => {
  await context.exposeFunction('double', (n) => n * 2);
  await context.exposeBinding('whereAmI', (source) => source.frame.url());
  await page.goto(at.site.url('/frames'));
  assert.equal(await page.evaluate(() => window.double(21)), 42);
  const frame = page.frames().find((f) => f.url().startsWith(at.site.other));
  assert.equal(await frame.evaluate(() => window.whereAmI()), `${at.site.other}/frame?other`);
  await page.goto(at.site.url('/popups'));
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#open')]);
  await popup.waitForURL('**/two?popup');
  assert.equal(await popup.evaluate(() => window.double(4)), 8);
});

test('console messages and page errors arrive', async () => {
  const seen = [];
  page.on('console', (message) => seen.push(`${message.type()}:${message.text()}`));
  await page.goto(at.site.url('/console'));
  assert.deepEqual(seen, ['log:hello 42', 'warning:careful', 'error:broken']);
  const failed = page.waitForEvent('pageerror');
  await page.evaluate(() => setTimeout(() => { throw new Error('thrown later'); }, 0));
  assert.equal((await failed).message, 'thrown later');
});

test('keyboard, mouse and locators work', async () => {
  await page.setContent('<input id=name><button onclick="this.textContent = document.querySelector(\'#name\').value">b</button>');
  await page.locator('#name').pressSequentially('knot');
  await page.keyboard.press('Shift+Home');
  await page.keyboard.type('loop');
  await page.getByRole('button').click();
  assert.equal(await page.getByRole('button').textContent(), 'loop');
});

test('a crash of one page leaves the others alive', async () => {
  const doomed = await context.newPage();
  await doomed.goto(`${at.site.other}/`);
  const crashed = doomed.waitForEvent('crash');
  const session = await context.newCDPSession(doomed);
  // There is no answer to wait for: the renderer is gone.
  session.send('Page.crash').catch(() => {});
  await within(10_000, 'the crash event', crashed);
  await page.goto(at.site.url('/two'));
  assert.equal(await page.title(), 'two');
});

test('a page led to chrome://crash crashes', async () => {
  const doomed = await context.newPage();
  await doomed.goto(`${at.site.other}/`);
  const crashed = doomed.waitForEvent('crash');
  doomed.goto('chrome://crash').catch(() => {});
  await within(5_000, 'the crash event', crashed);
});
