// Puppeteer over connect: by browserURL and by browserWSEndpoint.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from './lib/test.mjs';
import puppeteer from 'puppeteer-core';
import { newPuppeteerContext } from './lib/contexts.mjs';
import { fixture } from './lib/fixture.mjs';
import { browserWs } from './lib/http.mjs';
import { BIG_FILE, SMALL_FILE } from './lib/site.mjs';
import { until, within } from './lib/until.mjs';

let browser, context, close, page, dir;
const at = fixture({
  async open({ target }) {
    dir = await mkdtemp(join(tmpdir(), 'bowline-e2e-files-'));
    browser = await puppeteer.connect({ browserURL: target.endpoint, defaultViewport: null });
  },
  async close() {
    await browser?.disconnect();
    await rm(dir, { recursive: true, force: true });
  },
});

beforeEach(async () => {
  ({ context, close } = await newPuppeteerContext(browser));
  page = await context.newPage();
  page.setDefaultTimeout(10_000);
});
afterEach(() => close());

/** The first `event` of an emitter. */
const once = (emitter, event) =>
  within(10_000, `event ${event}`, new Promise((resolve) => emitter.once(event, resolve)));

test('connects by browserURL and by browserWSEndpoint, and leaves the browser running', async () => {
  const endpoints = [
    { browserURL: at.target.endpoint },
    { browserWSEndpoint: await browserWs(at.target.endpoint) },
  ];
  for (const endpoint of endpoints) {
    const other = await puppeteer.connect(endpoint);
    assert.match(await other.version(), /^(Headless)?Chrom(e|ium)\/\d+/);
    assert.equal(other.wsEndpoint(), browser.wsEndpoint());
    const tab = await other.newPage();
    await tab.goto(at.site.url('/'));
    assert.equal(await tab.title(), 'home');
    await tab.close();
    await other.disconnect();
  }
  assert.equal(browser.connected, true);
});

test('navigates: goto, link, back, forward, reload', async () => {
  assert.equal((await page.goto(at.site.url('/'))).status(), 200);
  await Promise.all([page.waitForNavigation(), page.click('#two')]);
  assert.equal(await page.title(), 'two');
  await page.goBack();
  assert.equal(await page.title(), 'home');
  await page.goForward();
  assert.equal(await page.title(), 'two');
  assert.equal((await page.reload()).ok(), true);
});

test('popups: window.open and target=_blank', async () => {
  await page.goto(at.site.url('/popups'));
  for (const link of ['#open', '#blank']) {
    const [popup] = await Promise.all([once(page, 'popup'), page.click(link)]);
    await popup.waitForFunction(() => document.title === 'two');
    const opener = await popup.target().opener().page();
    assert.equal(opener, page);
    await popup.close();
  }
});

test('a cross-origin iframe can be evaluated in and clicked', async () => {
  await page.goto(at.site.url('/frames'));
  const frame = await page.waitForFrame((f) => f.url() === `${at.site.other}/frame?other`);
  assert.equal(await frame.evaluate(() => location.hostname), 'localhost');
  const button = await frame.waitForSelector('#hit');
  // Chromium gives a click to the outer page as long as it has not drawn the inner one, and nothing tells when it has
  // (directly and right after the frame appeared: 124 of 159 were lost; the same through the hub: 49 of 159).
  await until('a click that arrives', async () => {
    await button.click();
    return frame.evaluate(() => document.title.startsWith('hit'));
  });
  assert.notEqual(frame.client, page.mainFrame().client, 'it has a session of its own');
});

test('workers: dedicated and service', async () => {
  const [worker] = await Promise.all([once(page, 'workercreated'), page.goto(at.site.url('/workers'))]);
  assert.equal(await worker.evaluate(() => self.kind), 'dedicated');
  await page.goto(at.site.url('/service'));
  const service = await context.waitForTarget((t) => t.type() === 'service_worker', { timeout: 10_000 });
  assert.equal(await (await service.worker()).evaluate(() => self.kind), 'service');
  // In a person's own browser it would stay for the tests that follow.
  await page.evaluate(() => navigator.serviceWorker.getRegistration().then((known) => known.unregister()));
});

test('a shared worker is seen and evaluated in', async () => {
  await page.goto(at.site.url('/shared'));
  const shared = await context.waitForTarget((t) => t.type() === 'shared_worker', { timeout: 10_000 });
  assert.equal(await (await shared.worker()).evaluate(() => self.kind), 'shared');
});

test('downloads land in the directory chosen, with their content', async () => {
  await context.setDownloadBehavior({ policy: 'allow', downloadPath: dir });
  await page.goto(at.site.url('/downloads'));
  await page.click('#get');
  await until('the small download', async () => SMALL_FILE.equals(await readFile(join(dir, 'knots.bin'))));
  await rm(join(dir, 'knots.bin'));
  await page.click('#big');
  await until('the big download', async () => BIG_FILE.equals(await readFile(join(dir, 'knots.bin'))));
});

test('uploads: the page reads the files it was given', async () => {
  const path = join(dir, 'upload.txt');
  await writeFile(path, 'from disk');
  await page.goto(at.site.url('/uploads'));
  await (await page.$('#files')).uploadFile(path);
  await page.waitForFunction(() => document.title === 'upload.txt=from disk');
  const [chooser] = await Promise.all([page.waitForFileChooser(), page.click('#files')]);
  assert.equal(chooser.isMultiple(), true);
  await chooser.accept([path]);
});

test('dialogs: alert, confirm, prompt and beforeunload', async () => {
  await page.goto(at.site.url('/dialogs'));
  const seen = [];
  page.on('dialog', async (dialog) => {
    seen.push(`${dialog.type()}:${dialog.message()}`);
    await dialog.accept(dialog.type() === 'prompt' ? 'typed' : undefined);
  });
  await page.click('#go');
  assert.deepEqual(await page.evaluate(() => window.answers.slice(1)), [true, 'typed']);
  await page.goto(at.site.url('/beforeunload'));
  await page.click('#touch');
  await page.goto(at.site.url('/two'));
  assert.deepEqual(seen, ['alert:one', 'confirm:two', 'prompt:three', 'beforeunload:']);
});

test('requests are answered, aborted and continued with other headers', async () => {
  await page.goto(at.site.url('/'));
  await page.setRequestInterception(true);
  const answer = (request) => {
    const { pathname } = new URL(request.url());
    if (pathname === '/api') return request.respond({ contentType: 'application/json', body: '{"from":"route"}' });
    if (pathname === '/two') return request.abort();
    return request.continue({ headers: { ...request.headers(), 'x-knot': 'bowline' } });
  };
  page.on('request', answer);
  const fetched = (path) => page.evaluate((p) => fetch(p).then((r) => r.json(), (e) => e.name), path);
  assert.deepEqual(await fetched('/api'), { from: 'route' });
  assert.equal(await fetched('/two'), 'TypeError');
  assert.equal((await fetched('/echo')).headers['x-knot'], 'bowline');
  page.off('request', answer);
  await page.setRequestInterception(false);
  assert.deepEqual(await fetched('/api'), { from: 'server' });
});

test('network events carry request, response and body', async () => {
  const [response] = await Promise.all([
    page.waitForResponse((r) => r.url().endsWith('/app.js')), page.goto(at.site.url('/app')),
  ]);
  assert.match(await response.text(), /fromScript/);
  assert.equal(response.request().resourceType(), 'script');
});

test('contexts do not share cookies or storage, and end with their pages', async () => {
  const other = await browser.createBrowserContext();
  await page.goto(at.site.url('/cookie'));
  await page.evaluate(() => localStorage.setItem('knot', 'bowline'));
  const twin = await other.newPage();
  await twin.goto(at.site.url('/'));
  assert.equal(await twin.evaluate(() => document.cookie + localStorage.getItem('knot')), 'null');
  const destroyed = once(other, 'targetdestroyed');
  await other.close();
  await destroyed;
  assert.equal(browser.browserContexts().includes(other), false);
});

test('cookies of a context are read, set and deleted', async () => {
  await page.goto(at.site.url('/cookie'));
  const value = async (name) => (await context.cookies()).find((cookie) => cookie.name === name)?.value;
  assert.equal(await value('knot'), 'bowline');
  await context.setCookie({ name: 'hitch', value: 'clove', domain: '127.0.0.1', path: '/' });
  assert.match(await page.evaluate(() => document.cookie), /hitch=clove/);
  await context.deleteCookie(...await context.cookies());
  assert.equal(await page.evaluate(() => document.cookie), '');
});

test('init scripts and exposed functions', async () => {
  await page.evaluateOnNewDocument(() => { window.early = 'early'; });
  await page.exposeFunction('double', (n) => n * 2);
  await page.goto(at.site.url('/two'));
  assert.equal(await page.evaluate(() => window.sawEarly), 'early');
  assert.equal(await page.evaluate(() => window.double(21)), 42);
});

test('console messages and page errors arrive', async () => {
  const seen = [];
  page.on('console', (message) => seen.push(`${message.type()}:${message.text()}`));
  await page.goto(at.site.url('/console'));
  await until('three console messages', () => seen.length >= 3);
  assert.deepEqual(seen, ['log:hello 42', 'warn:careful', 'error:broken']);
  const failed = once(page, 'pageerror');
  await page.evaluate(() => { setTimeout(() => { throw new Error('thrown later'); }, 0); });
  assert.match((await failed).message, /thrown later$/);
});

test('JavaScript coverage counts what ran', async () => {
  await page.coverage.startJSCoverage();
  await page.goto(at.site.url('/app'));
  const coverage = await page.coverage.stopJSCoverage();
  const script = coverage.find((entry) => entry.url.endsWith('/app.js'));
  assert.ok(script.ranges.length > 0);
});

test('tracing, PDF and screenshots have content', async () => {
  await page.tracing.start({ screenshots: false });
  await page.goto(at.site.url('/app'));
  const trace = JSON.parse(Buffer.from(await page.tracing.stop()).toString());
  assert.ok(trace.traceEvents.length > 10);
  assert.equal(Buffer.from(await page.pdf()).subarray(0, 5).toString(), '%PDF-');
  assert.equal(Buffer.from(await page.screenshot()).subarray(1, 4).toString(), 'PNG');
});

test('emulation: viewport, user agent, time zone, media', async () => {
  await page.setViewport({ width: 400, height: 300, deviceScaleFactor: 2, hasTouch: true });
  await page.setUserAgent({ userAgent: 'Knot/1.0' });
  await page.emulateTimezone('Pacific/Auckland');
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
  await page.goto(at.site.url('/'));
  const seen = await page.evaluate(() => ({
    width: innerWidth,
    ratio: devicePixelRatio,
    agent: navigator.userAgent,
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
  }));
  assert.deepEqual(seen, { width: 400, ratio: 2, agent: 'Knot/1.0', zone: 'Pacific/Auckland', dark: true });
});

test('accessibility snapshot, keyboard and locators', async () => {
  await page.setContent('<input aria-label=name><button onclick="this.textContent = document.querySelector(\'input\').value">b</button>');
  await page.locator('input').fill('knot');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.locator('::-p-aria(knot)').wait();
  const tree = await page.accessibility.snapshot();
  assert.ok(tree.children.some((node) => node.role === 'button' && node.name === 'knot'));
});

test('a crashed page reports an error and the others live on', async () => {
  const doomed = await context.newPage();
  await doomed.goto(`${at.site.other}/`);
  const crashed = once(doomed, 'error');
  const session = await doomed.createCDPSession();
  session.send('Page.crash').catch(() => {});
  await crashed;
  await page.goto(at.site.url('/two'));
  assert.equal(await page.title(), 'two');
});
