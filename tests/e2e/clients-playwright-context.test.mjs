// Playwright over connectOverCDP: network, files, contexts, emulation, tracing, PDF, screenshots.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from './lib/test.mjs';
import { chromium, devices } from 'playwright-core';
import { newPlaywrightContext } from './lib/contexts.mjs';
import { fixture } from './lib/fixture.mjs';
import { BIG_FILE, html, SMALL_FILE } from './lib/site.mjs';

let browser, context, close, page, dir;
const at = fixture({
  pages: { '/styled': html('styled', '<style>h1 { color: red } h2 { color: blue }</style><h1>one</h1>') },
  async open({ target }) {
    dir = await mkdtemp(join(tmpdir(), 'bowline-e2e-files-'));
    browser = await chromium.connectOverCDP(target.endpoint);
  },
  async close() {
    await browser?.close();
    await rm(dir, { recursive: true, force: true });
  },
});

beforeEach(async () => {
  ({ context, close } = await newPlaywrightContext(browser, { acceptDownloads: true }));
  context.setDefaultTimeout(10_000);
  page = await context.newPage();
});
afterEach(() => close());

const EMULATED = () => ({
  agent: navigator.userAgent.includes('Pixel 7'),
  touch: navigator.maxTouchPoints > 0,
  ratio: devicePixelRatio,
  number: (1.5).toLocaleString(),
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  dark: matchMedia('(prefers-color-scheme: dark)').matches,
});

const png = (bytes) => bytes.subarray(1, 4).toString() === 'PNG';

test('downloads are saved with their content', async () => {
  await page.goto(at.site.url('/downloads'));
  for (const [link, content] of [['#get', SMALL_FILE], ['#big', BIG_FILE]]) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click(link)]);
    assert.equal(download.suggestedFilename(), 'knots.bin');
    assert.equal(await download.failure(), null);
    const path = join(dir, `saved${link.slice(1)}`);
    await download.saveAs(path);
    assert.deepEqual(await readFile(path), content);
  }
});

test('downloads of the default context are saved too', async () => {
  const tab = await browser.contexts()[0].newPage();
  await tab.goto(at.site.url('/downloads'));
  const [download] = await Promise.all([tab.waitForEvent('download'), tab.click('#get')]);
  assert.deepEqual(await readFile(await download.path()), SMALL_FILE);
  await tab.close();
});

test('uploads: the page reads the files it was given, from disk and from memory', async () => {
  const path = join(dir, 'upload.txt');
  await writeFile(path, 'from disk');
  await page.goto(at.site.url('/uploads'));
  await page.setInputFiles('#files', path);
  await page.waitForFunction(() => document.title === 'upload.txt=from disk');
  await page.setInputFiles('#files', [
    { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('A') },
    { name: 'b.txt', mimeType: 'text/plain', buffer: Buffer.from('B') },
  ]);
  await page.waitForFunction(() => document.title === 'a.txt=A;b.txt=B');
});

test('a file chooser is intercepted', async () => {
  await page.goto(at.site.url('/uploads'));
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('#files')]);
  assert.equal(chooser.isMultiple(), true);
  await chooser.setFiles({ name: 'c.txt', mimeType: 'text/plain', buffer: Buffer.from('C') });
  await page.waitForFunction(() => document.title === 'c.txt=C');
});

test('requests are fulfilled, aborted and continued with other headers', async () => {
  await page.goto(at.site.url('/'));
  await page.route('**/api', (route) => route.fulfill({ json: { from: 'route' } }));
  await page.route('**/two', (route) => route.abort());
  await page.route('**/echo', (route) =>
    route.continue({ headers: { ...route.request().headers(), 'x-knot': 'bowline' } }));
  await page.route('**/app.js', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace('"server"', '"changed"') });
  });
  const fetched = (path) => page.evaluate((p) => fetch(p).then((r) => r.json(), (e) => e.name), path);
  assert.deepEqual(await fetched('/api'), { from: 'route' });
  assert.equal(await fetched('/two'), 'TypeError');
  assert.equal((await fetched('/echo')).headers['x-knot'], 'bowline');
  await page.goto(at.site.url('/app'));
  assert.equal(await page.evaluate(() => window.fromScript), 'changed');
  await page.unroute('**/api');
  assert.deepEqual(await fetched('/api'), { from: 'server' });
});

test('routes of a context hold in cross-origin frames and popups', async () => {
  await context.route('**/api', (route) => route.fulfill({ json: { from: 'context' } }));
  await page.goto(at.site.url('/frames'));
  const frame = page.frames().find((f) => f.url().startsWith(at.site.other));
  const fetched = (where) => where.evaluate(() => fetch('/api').then((r) => r.json()));
  assert.deepEqual(await fetched(frame), { from: 'context' });
  await page.goto(at.site.url('/popups'));
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#open')]);
  await popup.waitForURL('**/two?popup');
  assert.deepEqual(await fetched(popup), { from: 'context' });
});

test('network events carry request, response and body', async () => {
  const seen = [];
  page.on('request', (request) => seen.push(`> ${new URL(request.url()).pathname}`));
  page.on('requestfinished', (request) => seen.push(`< ${new URL(request.url()).pathname}`));
  const [response] = await Promise.all([
    page.waitForResponse('**/app.js'), page.goto(at.site.url('/app')),
  ]);
  assert.match(await response.text(), /fromScript/);
  assert.equal(response.headers()['content-type'], 'text/javascript');
  await page.waitForLoadState('networkidle');
  for (const line of ['> /app', '< /app', '> /app.js', '< /app.js']) assert.ok(seen.includes(line), line);
  const failed = page.waitForEvent('requestfailed');
  await page.evaluate(() => fetch('http://127.0.0.1:1/').catch(() => {}));
  assert.match((await failed).failure().errorText, /ERR_/);
});

test('contexts do not share cookies or storage, and end with their pages', async () => {
  const other = await browser.newContext();
  await page.goto(at.site.url('/cookie'));
  await page.evaluate(() => localStorage.setItem('knot', 'bowline'));
  const twin = await other.newPage();
  await twin.goto(at.site.url('/'));
  assert.equal(await page.evaluate(() => document.cookie), 'knot=bowline');
  assert.equal(await twin.evaluate(() => document.cookie + localStorage.getItem('knot')), 'null');
  await other.close();
  assert.equal(twin.isClosed(), true);
});

test('cookies and storage of a context are read, set and cleared', async () => {
  await page.goto(at.site.url('/cookie'));
  await page.evaluate(() => localStorage.setItem('knot', 'bowline'));
  const state = await context.storageState();
  assert.equal(state.cookies.find(({ name }) => name === 'knot').value, 'bowline');
  const { localStorage } = state.origins.find(({ origin }) => origin === at.site.origin);
  assert.deepEqual(localStorage, [{ name: 'knot', value: 'bowline' }]);
  await context.addCookies([{ name: 'hitch', value: 'clove', url: at.site.url('/') }]);
  const { headers } = await page.evaluate(() => fetch('/echo').then((r) => r.json()));
  assert.equal(headers.cookie, 'knot=bowline; hitch=clove');
  assert.equal((await context.cookies(at.site.url('/'))).length, 2);
  await context.clearCookies({ name: 'hitch' });
  assert.equal(await page.evaluate(() => document.cookie), 'knot=bowline');
  await context.clearCookies();
  assert.equal(await page.evaluate(() => document.cookie), '');
});

test('storage state and extra headers of a new context hold', async () => {
  await page.goto(at.site.url('/cookie'));
  const restored = await browser.newContext({
    storageState: await context.storageState(), extraHTTPHeaders: { 'x-knot': 'loop' },
  });
  const tab = await restored.newPage();
  await tab.goto(at.site.url('/'));
  const { headers } = await tab.evaluate(() => fetch('/echo').then((r) => r.json()));
  assert.equal(headers.cookie, 'knot=bowline');
  assert.equal(headers['x-knot'], 'loop');
  await restored.close();
});

test('extra headers of a context and of a page go with every request', async () => {
  await context.setExtraHTTPHeaders({ 'x-knot': 'loop' });
  const tab = await context.newPage();
  await tab.setExtraHTTPHeaders({ 'x-page': 'one' });
  await tab.goto(at.site.url('/'));
  const sent = async (where) => (await where.evaluate(() => fetch('/echo').then((r) => r.json()))).headers;
  const headers = await sent(tab);
  assert.deepEqual([headers['x-knot'], headers['x-page']], ['loop', 'one']);
  await context.setExtraHTTPHeaders({});
  await page.goto(at.site.url('/'));
  assert.equal((await sent(page))['x-knot'], undefined);
});

test('a permission that was granted holds', async () => {
  await context.grantPermissions(['geolocation'], { origin: at.site.origin });
  await context.setGeolocation({ latitude: 1, longitude: 2 });
  await page.goto(at.site.url('/'));
  const latitude = await page.evaluate(() => new Promise((resolve, reject) =>
    navigator.geolocation.getCurrentPosition((p) => resolve(p.coords.latitude), reject)));
  assert.equal(latitude, 1);
});

test('emulation of a new context: device, locale, time zone, colour scheme', async () => {
  const phone = await browser.newContext({
    ...devices['Pixel 7'], locale: 'de-DE', timezoneId: 'Pacific/Auckland', colorScheme: 'dark',
  });
  const tab = await phone.newPage();
  await tab.goto(at.site.url('/'));
  assert.deepEqual(await tab.evaluate(EMULATED), {
    agent: true, touch: true, ratio: 2.625, number: '1,5', zone: 'Pacific/Auckland', dark: true,
  });
  await phone.close();
});

test('emulation of a page: device, locale, time zone, colour scheme', async () => {
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setDeviceMetricsOverride', { width: 412, height: 839, deviceScaleFactor: 2.625, mobile: true });
  await session.send('Emulation.setTouchEmulationEnabled', { enabled: true });
  await session.send('Emulation.setUserAgentOverride', { userAgent: devices['Pixel 7'].userAgent });
  await session.send('Emulation.setLocaleOverride', { locale: 'de-DE' });
  await session.send('Emulation.setTimezoneOverride', { timezoneId: 'Pacific/Auckland' });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto(at.site.url('/'));
  assert.deepEqual(await page.evaluate(EMULATED), {
    agent: true, touch: true, ratio: 2.625, number: '1,5', zone: 'Pacific/Auckland', dark: true,
  });
  await page.setViewportSize({ width: 500, height: 400 });
  assert.deepEqual(await page.evaluate(() => [innerWidth, innerHeight]), [500, 400]);
});

test('a context that is offline reaches nothing, and does so again afterwards', async () => {
  await page.goto(at.site.url('/'));
  await context.setOffline(true);
  await assert.rejects(page.goto(at.site.url('/two')), /ERR_INTERNET_DISCONNECTED/);
  await context.setOffline(false);
  assert.equal((await page.goto(at.site.url('/two'))).ok(), true);
});

test('a Playwright trace is written as a zip', async () => {
  const path = join(dir, 'trace.zip');
  await context.tracing.start({ screenshots: true, snapshots: true });
  await page.goto(at.site.url('/'));
  await page.click('#two');
  await context.tracing.stop({ path });
  const zip = await readFile(path);
  assert.equal(zip.subarray(0, 2).toString(), 'PK');
  assert.ok(zip.length > 2_000, `${zip.length} bytes`);
});

test('a Chromium trace comes as a stream on a browser session', async () => {
  const session = await browser.newBrowserCDPSession();
  await session.send('Tracing.start', {
    transferMode: 'ReturnAsStream', traceConfig: { includedCategories: ['devtools.timeline'] },
  });
  await page.goto(at.site.url('/two'));
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  const { stream } = await complete;
  let text = '';
  for (let eof = false; !eof;) {
    const chunk = await session.send('IO.read', { handle: stream });
    text += chunk.base64Encoded ? Buffer.from(chunk.data, 'base64').toString() : chunk.data;
    eof = chunk.eof;
  }
  await session.send('IO.close', { handle: stream });
  assert.ok(JSON.parse(text).traceEvents.length > 10);
  await session.detach();
});

test('browser.startTracing gives the same trace through Playwright', async () => {
  await browser.startTracing(page);
  await page.goto(at.site.url('/'));
  const trace = JSON.parse((await browser.stopTracing()).toString());
  assert.ok(trace.traceEvents.length > 10);
});

test('PDF and screenshots have content', async () => {
  await page.goto(at.site.url('/'));
  const pdf = await page.pdf({ format: 'A4' });
  assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
  assert.ok(png(await page.screenshot()));
  assert.ok(png(await page.screenshot({ fullPage: true })));
  assert.ok(png(await page.locator('h1').screenshot()));
});

test('JavaScript coverage counts what ran', async () => {
  await page.coverage.startJSCoverage();
  await page.goto(at.site.url('/app'));
  const coverage = await page.coverage.stopJSCoverage();
  const script = coverage.find((entry) => entry.url.endsWith('/app.js'));
  const counts = Object.fromEntries(script.functions.map((f) => [f.functionName, f.ranges[0].count]));
  assert.equal(counts.used, 1);
  assert.equal(counts.unused, 0);
});

test('CSS coverage tells which rules were used', async () => {
  await page.coverage.startCSSCoverage();
  await page.goto(at.site.url('/styled'));
  const [sheet] = await page.coverage.stopCSSCoverage();
  const used = sheet.ranges.map(({ start, end }) => sheet.text.slice(start, end)).join('');
  assert.match(used, /h1/);
  assert.doesNotMatch(used, /h2/);
});

test('a page CDP session sees its own events only', async () => {
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  const got = new Promise((resolve) => session.once('Network.requestWillBeSent', resolve));
  await page.goto(at.site.url('/three'));
  assert.equal((await got).request.url, at.site.url('/three'));
  await session.detach();
  await assert.rejects(session.send('Network.disable'));
});
