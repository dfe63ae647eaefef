// A person's own browser with a window, on a screen (Xvfb): what differs from a headless one, and the infobar's Cancel.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { fixture } from './lib/fixture.mjs';
import { Own } from './lib/own.mjs';
import { needsScreen } from './lib/screen.mjs';
import { SMALL_FILE } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const at = fixture({
  target: false,
  async open(at) {
    if (!needsScreen.skip) at.own = await Own.start({ hasWindow: true, pages: [at.site.url('/'), at.site.url('/frames')] });
  },
  close: (at) => at.own?.stop(),
});

async function connect(t) {
  const browser = await chromium.connectOverCDP(at.own.endpoint);
  t.after(() => browser.close());
  return { browser, context: browser.contexts()[0] };
}

test('tabs that the person has open are used where they are, behind each other', needsScreen, async (t) => {
  const { context } = await connect(t);
  await until('both tabs', () => context.pages().length === 2);
  for (const page of context.pages()) {
    assert.match(await page.title(), /^(home|frames)$/);
    assert.equal((await page.screenshot()).subarray(1, 4).toString(), 'PNG');
  }
  const home = context.pages().find((page) => page.url() === at.site.url('/'));
  await home.click('#two');
  await home.waitForURL('**/two');
  // A page restored from the back-forward cache fires no load event.
  await home.goBack({ waitUntil: 'commit' });
  assert.equal(await home.title(), 'home');
});

test('a new tab of an agent leaves the person\'s own in front', needsScreen, async (t) => {
  const { context } = await connect(t);
  const inFront = () => at.own.inExtension('chrome.tabs.query({ active: true }).then(([tab]) => tab.url)');
  const before = await inFront();
  const page = await context.newPage();
  t.after(() => page.close());
  await page.goto(at.site.url('/frames'));
  const frame = page.frames().find((one) => one.url().startsWith(at.site.other));
  await frame.click('#hit');
  assert.equal(await frame.title(), 'hit 1');
  assert.equal(await page.evaluate(() => document.visibilityState), 'visible');
  assert.equal(await inFront(), before);
  await page.bringToFront();
  assert.equal(await inFront(), at.site.url('/frames'));
});

test('popups, dialogs, downloads and PDF work with a window', needsScreen, async (t) => {
  const { context } = await connect(t);
  const page = await context.newPage();
  t.after(() => page.close());
  await page.goto(at.site.url('/popups'));
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#open')]);
  await popup.waitForURL('**/two?popup');
  assert.equal(await popup.opener(), page);
  await popup.close();
  await page.goto(at.site.url('/dialogs'));
  page.on('dialog', (dialog) => dialog.accept('typed'));
  await page.click('#go');
  assert.deepEqual(await page.evaluate(() => window.answers.slice(1)), [true, 'typed']);
  await page.goto(at.site.url('/downloads'));
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#get')]);
  assert.deepEqual(await readFile(await download.path()), SMALL_FILE);
  assert.equal((await page.pdf()).subarray(0, 5).toString(), '%PDF-');
});

test('the window can be looked at and moved', needsScreen, async (t) => {
  const { context } = await connect(t);
  const session = await context.newCDPSession(context.pages()[0]);
  const { windowId, bounds } = await session.send('Browser.getWindowForTarget');
  assert.ok(bounds.width > 400 && bounds.height > 300, JSON.stringify(bounds));
  await session.send('Browser.setWindowBounds', { windowId, bounds: { width: bounds.width - 100 } });
  await until('the window is narrower', async () =>
    (await session.send('Browser.getWindowBounds', { windowId })).bounds.width === bounds.width - 100);
  await session.send('Browser.setWindowBounds', { windowId, bounds: { width: bounds.width } });
});

test('Cancel on the infobar ends all sessions, and nothing attaches until a new client asks', needsScreen, async (t) => {
  const { browser, context } = await connect(t);
  const page = await context.newPage();
  await page.goto(at.site.url('/two'));
  await page.bringToFront();
  const closed = page.waitForEvent('close', { timeout: 20_000 });
  await at.own.screen.cancel(async () => (await at.own.attached()).length === 0);
  await closed;
  await assert.rejects(within(5_000, 'a refusal', context.newPage()), /cancelled/);
  assert.deepEqual(await at.own.attached(), []);
  assert.equal(browser.isConnected(), true);
  const another = await connect(t);
  const again = another.context.pages().find((one) => one.url() === at.site.url('/two'));
  assert.equal(await again.title(), 'two');
  await again.close();
});
