// A person's own browser: clients come and go, and no tab has a debugger but those that are used.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { fixture } from './lib/fixture.mjs';
import { Own } from './lib/own.mjs';
import { stays } from './lib/stays.mjs';
import { test } from './lib/test.mjs';
import { until } from './lib/until.mjs';

let own;
const at = fixture({
  target: false,
  async open() {
    own = await Own.start();
  },
  close: () => own?.stop(),
});

const png = (bytes) => Buffer.from(bytes).subarray(1, 4).toString() === 'PNG';

/** A tab of the person's own, untouched; it goes with the test. */
async function tab(t, path) {
  const url = at.site.url(path);
  const targetId = await own.open(url);
  t.after(() => own.pipe.send('Target.closeTarget', { targetId }));
  await until(`${url} is loaded`, () => own.inExtension(
    `chrome.tabs.query({ url: ${JSON.stringify(url)} }).then(([tab]) => tab?.status === 'complete')`));
  return { url, targetId };
}

async function playwright(t) {
  const browser = await chromium.connectOverCDP(own.endpoint);
  t.after(() => browser.close());
  const [context] = browser.contexts();
  context.setDefaultTimeout(10_000);
  return { context, page: (url) => context.pages().find((page) => page.url() === url) };
}

async function pup(t) {
  const browser = await puppeteer.connect({ browserURL: own.endpoint });
  t.after(() => browser.disconnect());
  return { page: async (url) => (await browser.pages()).find((page) => page.url() === url) };
}

async function raw(t, { targetId }) {
  const cdp = await own.cdp();
  t.after(() => cdp.close());
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
  return { cdp, sessionId, evaluate: (expression) => cdp.evaluate(expression, sessionId) };
}

test('what a client sets before a tab is attached holds at its first command', async (t) => {
  const { targetId } = await tab(t, '/?kept');
  const { cdp, sessionId, evaluate } = await raw(t, { targetId });
  const set = (method, params) => cdp.send(method, params, sessionId);
  await set('Page.enable');
  await set('Runtime.enable');
  await set('Network.enable');
  await set('Page.addScriptToEvaluateOnNewDocument', { source: 'window.early = "early"' });
  await set('Emulation.setTimezoneOverride', { timezoneId: 'Pacific/Auckland' });
  await set('Emulation.setUserAgentOverride', { userAgent: 'Knot/1.0' });
  await set('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
  await set('Network.setExtraHTTPHeaders', { headers: { 'x-knot': 'bowline' } });
  await set('Runtime.addBinding', { name: 'tell' });
  assert.deepEqual(await own.attached(), []);

  const seen = await evaluate(`fetch('/echo').then((r) => r.json()).then(({ headers }) => ({
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone, dark: matchMedia('(prefers-color-scheme: dark)').matches,
    agent: headers['user-agent'], knot: headers['x-knot'], tell: typeof tell }))`);
  assert.deepEqual(seen, { zone: 'Pacific/Auckland', dark: true, agent: 'Knot/1.0', knot: 'bowline', tell: 'function' });
  await evaluate('tell("called")');
  assert.equal((await cdp.event('Runtime.bindingCalled')).params.payload, 'called');
  await set('Page.navigate', { url: at.site.url('/two?kept') });
  await until('the init script has run', async () => (await evaluate('window.sawEarly')) === 'early');
  assert.equal(await evaluate('navigator.userAgent'), 'Knot/1.0');
});

test('init scripts and headers of Playwright, set before a tab is attached, hold at its first command', async (t) => {
  const { url } = await tab(t, '/?playwright');
  const { context, page } = await playwright(t);
  await context.addInitScript(() => { window.early = 'early'; });
  await context.setExtraHTTPHeaders({ 'x-knot': 'bowline' });
  await page(url).emulateMedia({ colorScheme: 'dark' });
  assert.deepEqual(await own.attached(), []);
  const first = page(url);
  const { headers } = await first.evaluate(() => fetch('/echo').then((r) => r.json()));
  assert.equal(headers['x-knot'], 'bowline');
  await first.goto(at.site.url('/two?playwright'));
  assert.deepEqual(await first.evaluate(() => [window.sawEarly, matchMedia('(prefers-color-scheme: dark)').matches]), ['early', true]);
});

const FIRST = {
  evaluate: async (page) => assert.equal(await page.evaluate(() => document.title), 'frames'),
  screenshot: async (page) => assert.ok(png(await page.screenshot())),
  goto: async (page) => {
    assert.equal((await page.goto(at.site.url('/popups'))).status(), 200);
    await page.click('#open', { trial: true });
  },
  'a click in a frame of another origin': async (page) => {
    await page.frameLocator('#other').locator('#hit').click();
    await page.frames().find((frame) => frame.url().startsWith(at.site.other)).waitForFunction(() => document.title === 'hit 1');
  },
  waitForLoadState: async (page) => {
    await page.waitForLoadState('load');
    assert.equal(await page.title(), 'frames');
    assert.equal(page.frames().length, 3);
  },
  reload: async (page) => assert.equal((await page.reload()).status(), 200),
  content: async (page) => assert.match(await page.content(), /id="same"/),
};

for (const [first, drive] of Object.entries(FIRST)) {
  test(`an untouched tab is usable by Playwright: first ${first}`, async (t) => {
    const { url } = await tab(t, `/frames?${encodeURIComponent(first)}`);
    const { page } = await playwright(t);
    await drive(page(url));
  });
}

test('an untouched tab is usable by Playwright: first a click', async (t) => {
  const { url } = await tab(t, '/frame?click');
  const { page } = await playwright(t);
  const first = page(url);
  await first.click('#hit');
  assert.equal(await first.title(), 'hit 1');
});

test('untouched tabs are usable by Puppeteer: evaluate, click, screenshot, goto', async (t) => {
  const tabs = await Promise.all(['evaluate', 'click', 'screenshot', 'goto'].map((name) => tab(t, `/frame?pup-${name}`)));
  const { page } = await pup(t);
  const [evaluated, clicked, shot, gone] = await Promise.all(tabs.map(({ url }) => page(url)));
  assert.deepEqual(await own.attached(), []);
  assert.equal(await evaluated.evaluate(() => document.title), 'frame');
  await clicked.click('#hit');
  await clicked.waitForFunction(() => document.title === 'hit 1');
  assert.ok(png(await shot.screenshot()));
  assert.equal((await gone.goto(at.site.url('/two'))).status(), 200);
});

test('a tab that goes elsewhere by itself is seen, and stays without a debugger', async (t) => {
  const { url, targetId } = await tab(t, '/?moves');
  const { page } = await playwright(t);
  const { page: pupPage } = await pup(t);
  const { cdp } = await raw(t, { targetId });
  await cdp.send('Target.setDiscoverTargets', { discover: true });
  const [mine, theirs] = [page(url), await pupPage(url)];
  const there = at.site.url('/three?moved');
  await own.inExtension(`chrome.tabs.update(${await own.tabOf(targetId)}, { url: ${JSON.stringify(there)} })`);
  await mine.waitForURL(there);
  await until('Puppeteer has seen it', () => theirs.url() === there);
  await cdp.event('Target.targetInfoChanged', ({ targetInfo }) => targetInfo.url === there);
  await cdp.event('Target.targetInfoChanged', ({ targetInfo }) => targetInfo.title === 'three');
  assert.deepEqual(await own.attached(), []);
  assert.equal(await mine.evaluate(() => location.href), there);
  assert.equal(await theirs.evaluate(() => document.title), 'three');
});

test('parallel first commands, of one client and of five, attach a tab once', async (t) => {
  await own.inExtension(`globalThis.attach ??= chrome.debugger.attach.bind(chrome.debugger); globalThis.attaches = 0;
    chrome.debugger.attach = (...args) => { globalThis.attaches++; return attach(...args); }; 0`);
  t.after(() => own.inExtension('chrome.debugger.attach = globalThis.attach; 0'));
  const one = await tab(t, '/two?one');
  const { evaluate } = await raw(t, one);
  assert.deepEqual(await Promise.all([1, 2, 3, 4, 5].map((n) => evaluate(`${n}`))), [1, 2, 3, 4, 5]);
  assert.equal(await own.inExtension('globalThis.attaches'), 1);
  const two = await tab(t, '/two?two');
  const clients = await Promise.all([1, 2, 3, 4, 5].map(() => raw(t, two)));
  assert.deepEqual(await Promise.all(clients.map((client, n) => client.evaluate(`${n}`))), [0, 1, 2, 3, 4]);
  assert.equal(await own.inExtension('globalThis.attaches'), 2);
});

test('a tab is let go 5 s after its last client has left, and not when another one is there', async (t) => {
  const place = await tab(t, '/two?leave');
  const [first, second] = [await own.cdp(), await own.cdp()];
  const on = async (cdp) => (await cdp.send('Target.attachToTarget', { targetId: place.targetId, flatten: true })).sessionId;
  const [mine, theirs] = [await on(first), await on(second)];
  await Promise.all([first.evaluate('1', mine), second.evaluate('1', theirs)]);
  await first.close();
  await stays('attached while another client drives it', async () => (await own.attached()).length === 1, 6_000, 500);
  assert.equal(await second.evaluate('2', theirs), 2);
  await second.close();
  await stays('attached for a client that comes back', async () => (await own.attached()).length === 1, 3_000, 300);
  await until('let go', async () => (await own.attached()).length === 0, 4_000);
});
