// Published clients of WebDriver BiDi on one Firefox, which allows one session: Puppeteer and Selenium, at once and isolated.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import puppeteer from 'puppeteer-core';
import { Bidi } from './lib/bidi.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const require = createRequire(import.meta.url);

const at = fixture({
  async open(own) {
    if (own.target.direct) return;
    own.session = `${own.target.endpoint.replace('http:', 'ws:')}/b/firefox/session`;
    await own.target.home.json('launch', 'firefox');
  },
});

const connect = () => puppeteer.connect({ browserWSEndpoint: at.session, protocol: 'webDriverBiDi' });

/** `body(...browsers)` with so many Puppeteers. */
async function withPuppeteers(count, body) {
  const browsers = await Promise.all(Array.from({ length: count }, connect));
  try {
    await body(...browsers);
  } finally {
    await Promise.all(browsers.map((browser) => browser.disconnect()));
  }
}

/** Selenium's modules want its driver; all that they use of it is the connection. */
async function withSelenium(body) {
  const Connection = require('selenium-webdriver/bidi');
  const bidi = new Connection(at.session);
  try {
    await bidi.waitForConnection();
    const { result } = await bidi.send({ method: 'session.new', params: { capabilities: {} } });
    await body({ getBidi: async () => bidi, getCapabilities: async () => new Map([['webSocketUrl', at.session]]) }, result);
  } finally {
    await bidi.close();
  }
}

test('two raw clients: their own ids, events and subscriptions', hubOnly, async () => {
  const [one, two] = await Promise.all([Bidi.session(at.session), Bidi.session(at.session)]);
  const [first, second] = [await one.tab(at.site.url('/')), await two.tab(at.site.url('/two'))];
  await one.send('session.subscribe', { events: ['log.entryAdded'] });
  // The same id of both clients, at the same time.
  assert.deepEqual(await Promise.all([one.evaluate('"one"', first), two.evaluate('"two"', second)]), ['one', 'two']);
  await two.evaluate('console.log("heard by one")', second);
  await one.event('log.entryAdded', ({ text }) => text === 'heard by one');
  await two.evaluate('1', second);
  assert.deepEqual(two.events.filter(({ method }) => method.startsWith('log.')), [], 'two has not subscribed');

  await two.send('session.subscribe', { events: ['log.entryAdded'], contexts: [second] });
  await one.send('session.unsubscribe', { events: ['log.entryAdded'] });
  const before = one.events.length;
  await one.evaluate('console.log("in the first")', first);
  await two.evaluate('console.log("in the second")', second);
  await two.event('log.entryAdded', ({ text }) => text === 'in the second');
  await one.evaluate('1', first);
  assert.equal(one.events.length, before, 'one has unsubscribed');
  assert.equal(two.events.some(({ params }) => params.text === 'in the first'), false, 'another tab');

  await one.send('session.end');
  await within(2_000, 'one closed', one.closed);
  assert.equal(await two.evaluate('document.title', second), 'two', 'the other goes on');
  await assert.rejects(two.send('no.such', {}), /unknown command/);
  await two.close();
});

test('two Puppeteers at once: pages, values, pictures, and the one goes without the other', hubOnly, async () => {
  const leaving = await connect();
  await withPuppeteers(1, async (staying) => {
    await Promise.all([leaving, staying].map(async (browser, i) => {
      const page = await browser.newPage();
      await page.goto(at.site.url(`/two?${i}`));
      assert.equal(await page.evaluate((n) => n * 21, i + 1), (i + 1) * 21);
      assert.match(page.url(), new RegExp(`two\\?${i}$`));
      assert.equal(Buffer.from(await page.screenshot()).subarray(1, 4).toString(), 'PNG');
      await page.close();
    }));
    assert.match(await staying.version(), /firefox/i);
    await leaving.disconnect();
    const page = await staying.newPage();
    assert.equal(await page.evaluate(() => 1 + 1), 2, 'the other goes on');
    await page.close();
  });
});

test("Puppeteers' contexts, cookies and preload scripts are their own", hubOnly, () => withPuppeteers(2, async (one, two) => {
  const [mine, yours] = await Promise.all([one, two].map((browser) => browser.createBrowserContext()));
  const [first, second] = await Promise.all([mine.newPage(), yours.newPage()]);
  await first.evaluateOnNewDocument(() => { window.mark = 'mine'; });
  await Promise.all([first.goto(at.site.url('/cookie')), second.goto(at.site.url('/two'))]);
  assert.equal(await first.evaluate(() => window.mark), 'mine');
  assert.deepEqual(await second.evaluate(() => [window.mark ?? null, document.cookie]), [null, ''], 'neither script nor cookie');
  assert.equal(await first.evaluate(() => document.cookie), 'knot=bowline');
  assert.equal((await two.pages()).some((page) => page.url() === at.site.url('/cookie')), false, 'the page of one is not there for the other');
  await mine.close();
  assert.equal(await second.title(), 'two', 'and goes without it');
  await yours.close();
}));

test('requests that two Puppeteers hold: each decides for its own pages, and what one leaves goes on', hubOnly, () => withPuppeteers(2, async (one, two) => {
  const [first, second] = await Promise.all([one.newPage(), two.newPage()]);
  await Promise.all([first.goto(at.site.url('/two')), second.goto(at.site.url('/two'))]);
  const held = [];
  await first.setRequestInterception(true);
  first.on('request', (request) => {
    if (request.url().endsWith('/api')) void request.respond({ status: 201, contentType: 'application/json', body: '{"from":"one"}' });
    else if (request.url().includes('?hold')) held.push(request);
    else void request.continue();
  });
  await second.setRequestInterception(true);
  second.on('request', (request) => void request.continue({ headers: { ...request.headers(), 'x-knot': 'two' } }));
  const ask = (page, path) => page.evaluate(async (path) => { const r = await fetch(path); return [r.status, await r.json()]; }, path);
  assert.deepEqual(await ask(first, '/api'), [201, { from: 'one' }]);
  assert.deepEqual(await ask(second, '/api'), [200, { from: 'server' }]);
  assert.equal((await ask(second, '/echo'))[1].headers['x-knot'], 'two');
  assert.equal((await ask(first, '/echo'))[1].headers['x-knot'], undefined);
  const waiting = second.evaluate(() => new Promise((done) => { const channel = new BroadcastChannel('held'); channel.onmessage = (e) => done(e.data); }));
  void first.evaluate(() => fetch('/two?hold').then((r) => { new BroadcastChannel('held').postMessage(r.status); })).catch(() => {});
  await until('it is held', () => held.length === 1);
  await one.disconnect();
  assert.equal(await waiting, 200, 'what a client held goes on when it has left');
  await second.close();
}));

test('console, dialogs and exposed functions of a page reach the Puppeteer that asked', hubOnly, () => withPuppeteers(2, async (one, two) => {
  const [first, second] = await Promise.all([one.newPage(), two.newPage()]);
  await Promise.all([first.goto(at.site.url('/dialogs')), second.goto(at.site.url('/two'))]);
  const lines = [];
  first.on('console', (message) => lines.push(message.text()));
  first.on('dialog', (dialog) => void (dialog.type() === 'prompt' ? dialog.accept('typed') : dialog.accept()));
  await first.exposeFunction('twice', (n) => n * 2);
  assert.equal(await first.evaluate(() => window.twice(21)), 42);
  await first.click('#go');
  assert.deepEqual(await until('all are answered', () => first.evaluate(() => window.answers)), [undefined, true, 'typed']);
  await first.evaluate(() => console.log('from the first'));
  await second.evaluate(() => console.log('from the second'));
  await until('it is heard', () => lines.includes('from the first'));
  assert.deepEqual(lines, ['from the first']);
  await Promise.all([first.close(), second.close()]);
}));

test("Selenium's modules beside a Puppeteer: contexts, scripts, logs and network", hubOnly, () => withPuppeteers(1, (browser) => withSelenium(async (driver, { sessionId, capabilities }) => {
  const BrowsingContext = require('selenium-webdriver/bidi/browsingContext');
  const LogInspector = require('selenium-webdriver/bidi/logInspector');
  const { Network } = require('selenium-webdriver/bidi/network');
  const { AddInterceptParameters } = require('selenium-webdriver/bidi/addInterceptParameters');
  const { InterceptPhase } = require('selenium-webdriver/bidi/interceptPhase');
  const ScriptManager = require('selenium-webdriver/bidi/scriptManager');
  assert.ok(sessionId && capabilities.browserName === 'firefox');
  const page = await browser.newPage();
  await page.goto(at.site.url('/two?puppeteer'));

  const context = await BrowsingContext(driver, { type: 'tab' });
  const { url } = await context.navigate(at.site.url('/two?selenium'), 'complete');
  assert.equal(url, at.site.url('/two?selenium'));
  const logs = await LogInspector(driver, context.id);
  const lines = [];
  await logs.onConsoleEntry((entry) => lines.push(entry.text));
  const scripts = await ScriptManager(context.id, driver);
  const value = await scripts.callFunctionInBrowsingContext(context.id, '() => { console.log("by selenium"); return 6 * 7; }', false);
  assert.equal(value.result.value, 42);
  await page.evaluate(() => console.log('by puppeteer'));
  await until('the line', () => lines.includes('by selenium'));
  assert.deepEqual(lines, ['by selenium'], 'its own tab alone');

  const network = await Network(driver, [context.id]);
  const intercept = await network.addIntercept(new AddInterceptParameters(InterceptPhase.BEFORE_REQUEST_SENT));
  const failed = [];
  await network.beforeRequestSent((event) => { failed.push(event.request.url); void network.failRequest(event.request.request); });
  const fetched = (path) => `() => fetch('${path}').then((r) => r.status, () => 'failed')`;
  assert.equal((await scripts.callFunctionInBrowsingContext(context.id, fetched('/api'), true)).result.value, 'failed');
  assert.equal(await page.evaluate(() => fetch('/api?mine').then((r) => r.status)), 200, "the Puppeteer's page is not held by it");
  assert.deepEqual(failed, [at.site.url('/api')]);
  await network.removeIntercept(intercept);
  assert.equal((await scripts.callFunctionInBrowsingContext(context.id, fetched('/api?after'), true)).result.value, 200);
  const picture = await context.captureScreenshot();
  assert.equal(Buffer.from(picture, 'base64').subarray(1, 4).toString(), 'PNG');
  await context.close();
  await page.close();
})));
