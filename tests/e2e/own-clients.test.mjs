// A person's own browser: several clients on the same tab, each as if it were alone.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { fixture } from './lib/fixture.mjs';
import { Own } from './lib/own.mjs';
import { BIG_FILE, html, SMALL_FILE } from './lib/site.mjs';
import { stays } from './lib/stays.mjs';
import { test } from './lib/test.mjs';
import { timed, until, within } from './lib/until.mjs';

let own;
let served = 0;
const at = fixture({
  target: false,
  pages: {
    '/number': () => ({
      type: 'application/octet-stream', headers: { 'content-disposition': 'attachment; filename="number.txt"' }, body: `${++served}`,
    }),
    '/numbers': html('numbers', '<a id=get href=/number>get</a>'),
  },
  async open() {
    own = await Own.start();
  },
  close: () => own?.stop(),
});

/** A tab of the person's own, which goes with the test. */
async function tab(t, path) {
  const url = at.site.url(path);
  const targetId = await own.open(url);
  t.after(() => own.pipe.send('Target.closeTarget', { targetId }).catch(() => {}));
  await until(`${url} is loaded`, () => own.inExtension(
    `chrome.tabs.query({ url: ${JSON.stringify(url)} }).then(([tab]) => tab?.status === 'complete')`));
  return { url, targetId };
}

class Client {
  static async on(t, { targetId }, ...domains) {
    const client = new Client();
    client.cdp = await own.cdp();
    t.after(() => client.cdp.close());
    client.targetId = targetId;
    ({ sessionId: client.sessionId } = await client.cdp.send('Target.attachToTarget', { targetId, flatten: true }));
    for (const domain of domains) await client.send(`${domain}.enable`);
    return client;
  }

  send = (method, params) => this.cdp.send(method, params, this.sessionId);
  evaluate = (expression, more) => this.cdp.evaluate(expression, this.sessionId, more);
  event = (method, fits = () => true, ms) =>
    this.cdp.event(method, (params, session) => session === this.sessionId && fits(params), ms);
  events = (domain) => this.cdp.events.filter(({ method }) => method.startsWith(`${domain}.`));

  async goto(url) {
    const { loaderId } = await this.send('Page.navigate', { url });
    await until(`at ${url}`, () => this.evaluate(`location.href === ${JSON.stringify(url)} && document.readyState === 'complete'`));
    return loaderId;
  }

  /** As a process that was killed: the socket is gone in the middle of whatever it was. */
  async die() {
    this.cdp.socket.terminate();
    await this.cdp.closed;
  }
}

async function playwright(t) {
  const browser = await chromium.connectOverCDP(own.endpoint);
  t.after(() => browser.close());
  const [context] = browser.contexts();
  context.setDefaultTimeout(10_000);
  return { browser, context, page: (url) => context.pages().find((page) => page.url() === url) };
}

async function pup(t) {
  const browser = await puppeteer.connect({ browserURL: own.endpoint, defaultViewport: null });
  t.after(() => browser.disconnect());
  return { browser, page: async (url) => (await browser.pages()).find((page) => page.url() === url) };
}

test('five clients at once work on one tab: two Playwrights, a Puppeteer and two others', async (t) => {
  const place = await tab(t, '/popups?five');
  const [one, two, three, four, five] = await Promise.all([
    playwright(t), playwright(t), pup(t), Client.on(t, place), Client.on(t, place),
  ]);
  const pages = [one.page(place.url), two.page(place.url), await three.page(place.url)];
  await Promise.all(Array.from({ length: 20 }, async (_, i) => {
    const answers = await Promise.all([
      ...pages.map((page, n) => page.evaluate((text) => text, `${n} ${i}`)),
      four.evaluate(`"3 ${i}"`), five.evaluate(`"4 ${i}"`),
    ]);
    assert.deepEqual(answers, [0, 1, 2, 3, 4].map((n) => `${n} ${i}`));
  }));
  assert.notEqual(four.sessionId, five.sessionId);
  const seen = pages.map((page) => page.waitForNavigation({ url: at.site.url('/two?five') }));
  await four.goto(at.site.url('/two?five'));
  await Promise.all(seen);
  for (const page of pages) assert.equal(await page.title(), 'two');
});

test('a client gets the events of what it has enabled, and no others', async (t) => {
  const place = await tab(t, '/two?events');
  const [net, log, none] = [
    await Client.on(t, place, 'Network'), await Client.on(t, place, 'Runtime'), await Client.on(t, place),
  ];
  await none.evaluate('console.log("said"); fetch("/api").then((r) => r.text())');
  await net.event('Network.responseReceived', ({ response }) => response.url.endsWith('/api'));
  await log.event('Runtime.consoleAPICalled', ({ args }) => args[0].value === 'said');
  assert.deepEqual([net.events('Runtime'), log.events('Network'), none.events('Network'), none.events('Runtime')], [[], [], [], []]);
  await net.send('Network.disable');
  const second = await Client.on(t, place, 'Network');
  const before = net.events('Network').length;
  await none.evaluate('fetch("/api?again").then((r) => r.text())');
  await second.event('Network.loadingFinished');
  assert.equal(net.events('Network').length, before, 'one that was disabled');
});

test('a late client is told contexts, console messages and lifecycle of what was before it', async (t) => {
  const place = await tab(t, '/frames?late');
  const first = await Client.on(t, place, 'Page', 'Runtime', 'Log');
  await first.send('Page.setLifecycleEventsEnabled', { enabled: true });
  await first.evaluate('console.log("before")');
  await first.event('Runtime.consoleAPICalled');
  const told = first.events('Runtime').length;

  const late = await Client.on(t, place, 'Page', 'Runtime');
  await late.send('Page.setLifecycleEventsEnabled', { enabled: true });
  const context = await late.event('Runtime.executionContextCreated', ({ context: { auxData } }) =>
    auxData.isDefault && auxData.frameId === place.targetId);
  await late.event('Runtime.consoleAPICalled', ({ args }) => args[0].value === 'before');
  await late.event('Page.lifecycleEvent', ({ name, frameId }) => name === 'load' && frameId === place.targetId);
  const { result } = await late.send('Runtime.evaluate', { expression: '6 * 7', contextId: context.params.context.id });
  assert.equal(result.value, 42);
  const { frameTree } = await late.send('Page.getFrameTree');
  assert.equal(frameTree.childFrames.length, 1, 'the one of the same origin');
  assert.equal(first.events('Runtime').length, told, 'the first one is told nothing twice');
});

test('one client\'s route never sees another client\'s requests on another tab', async (t) => {
  const [one, two] = await Promise.all([playwright(t), playwright(t)]);
  const [mine, theirs] = [await one.context.newPage(), await two.context.newPage()];
  t.after(() => Promise.all([mine.close(), theirs.close()]));
  const seen = { one: [], two: [] };
  const answer = (name) => (route) => {
    seen[name].push(route.request().url());
    return route.fulfill({ json: { from: name } });
  };
  await mine.route('**/api*', answer('one'));
  await theirs.route('**/api*', answer('two'));
  await Promise.all([mine.goto(at.site.url('/two?mine')), theirs.goto(at.site.url('/two?theirs'))]);
  const fetched = (page, path) => page.evaluate((p) => fetch(p).then((r) => r.json()), path);
  for (let i = 0; i < 10; i++) {
    const got = await Promise.all([fetched(mine, `/api?one${i}`), fetched(theirs, `/api?two${i}`)]);
    assert.deepEqual(got, [{ from: 'one' }, { from: 'two' }]);
  }
  for (const [name, urls] of Object.entries(seen)) {
    assert.equal(urls.length, 10);
    assert.ok(urls.every((url) => url.includes(`/api?${name}`)), name);
  }
});

test('routes of two clients on one tab: each sees what it asked for, and both what both asked for', async (t) => {
  const place = await tab(t, '/two?routes');
  const [one, two] = [await Client.on(t, place), await Client.on(t, place)];
  const paused = new Map([[one, []], [two, []]]);
  const listen = async (client, pattern, headers) => {
    await client.send('Fetch.enable', { patterns: [{ urlPattern: pattern }] });
    client.cdp.on(({ method, params, sessionId }) => {
      if (method !== 'Fetch.requestPaused' || sessionId !== client.sessionId) return;
      paused.get(client).push(new URL(params.request.url).pathname + new URL(params.request.url).search);
      const given = Object.entries({ ...params.request.headers, ...headers }).map(([name, value]) => ({ name, value }));
      void client.send('Fetch.continueRequest', { requestId: params.requestId, headers: given });
    });
  };
  await listen(one, '*one=*', { 'x-one': '1' });
  await listen(two, '*two=*', { 'x-two': '2' });
  const headers = async (path) => (await one.evaluate(`fetch(${JSON.stringify(path)}).then((r) => r.json())`)).headers;
  const marks = async (path) => {
    const sent = await headers(path);
    return [sent['x-one'], sent['x-two']];
  };
  assert.deepEqual(await marks('/echo?one=1'), ['1', undefined]);
  assert.deepEqual(await marks('/echo?two=1'), [undefined, '2']);
  assert.deepEqual(await marks('/echo?none'), [undefined, undefined]);
  assert.deepEqual(await marks('/echo?one=1&two=1'), ['1', '2'], 'the second sees what the first made of it');
  assert.deepEqual(paused.get(one), ['/echo?one=1', '/echo?one=1&two=1']);
  assert.deepEqual(paused.get(two), ['/echo?two=1', '/echo?one=1&two=1']);
  await one.send('Fetch.disable');
  assert.deepEqual(await marks('/echo?one=1&two=2'), [undefined, '2']);
});

test('emulation is the last writer\'s, and the earlier one\'s again when that leaves', async (t) => {
  const place = await tab(t, '/two?emulation');
  const [one, two] = [await Client.on(t, place), await Client.on(t, place)];
  const zone = () => one.evaluate('Intl.DateTimeFormat().resolvedOptions().timeZone');
  const width = () => one.evaluate('innerWidth');
  const [home, wide] = [await zone(), await width()];
  const metrics = (w) => ({ width: w, height: 300, deviceScaleFactor: 1, mobile: false });
  await one.send('Emulation.setTimezoneOverride', { timezoneId: 'Pacific/Auckland' });
  await one.send('Emulation.setDeviceMetricsOverride', metrics(400));
  await two.send('Emulation.setTimezoneOverride', { timezoneId: 'Europe/Lisbon' });
  await two.send('Emulation.setDeviceMetricsOverride', metrics(500));
  assert.deepEqual([await zone(), await width()], ['Europe/Lisbon', 500]);
  await two.cdp.close();
  await until('the first one\'s again', async () => (await zone()) === 'Pacific/Auckland' && (await width()) === 400);
  await one.send('Emulation.setTimezoneOverride', { timezoneId: '' });
  await one.send('Emulation.clearDeviceMetricsOverride');
  // The page is laid out anew with its next frame.
  await until('as before', async () => (await zone()) === home && (await width()) === wide);
});

test('extra headers of two clients are merged, and go with their client', async (t) => {
  const place = await tab(t, '/two?headers');
  const [one, two] = [await Client.on(t, place, 'Network'), await Client.on(t, place, 'Network')];
  await one.send('Network.setExtraHTTPHeaders', { headers: { 'x-one': '1', 'x-both': 'one' } });
  await two.send('Network.setExtraHTTPHeaders', { headers: { 'x-two': '2', 'X-Both': 'two' } });
  const sent = async () => {
    const { headers } = await one.evaluate('fetch("/echo").then((r) => r.json())');
    return [headers['x-one'], headers['x-two'], headers['x-both']];
  };
  assert.deepEqual(await sent(), ['1', '2', 'two']);
  await two.cdp.close();
  await until('only the first one\'s', async () => (await sent()).join() === '1,,one');
});

test('bindings and init scripts are their client\'s own, and go with it', async (t) => {
  const place = await tab(t, '/two?bindings');
  const [one, two] = [await Client.on(t, place, 'Page', 'Runtime'), await Client.on(t, place, 'Page', 'Runtime')];
  await one.send('Runtime.addBinding', { name: 'tellOne' });
  await two.send('Runtime.addBinding', { name: 'tellTwo' });
  for (const client of [one, two]) await client.send('Runtime.addBinding', { name: 'tellBoth' });
  await one.send('Page.addScriptToEvaluateOnNewDocument', { source: 'window.early = "one"' });
  await two.send('Page.addScriptToEvaluateOnNewDocument', { source: 'window.early = (window.early ?? "") + " two"' });
  await one.goto(at.site.url('/two?bound'));
  assert.equal(await one.evaluate('window.sawEarly'), 'one two');
  await one.evaluate('tellOne("a"); tellTwo("b"); tellBoth("c")');
  const calls = (client) => client.cdp.events.filter(({ method }) => method === 'Runtime.bindingCalled').map(({ params }) => params.name);
  await one.event('Runtime.bindingCalled', ({ name }) => name === 'tellBoth');
  await two.event('Runtime.bindingCalled', ({ name }) => name === 'tellBoth');
  assert.deepEqual(calls(one), ['tellOne', 'tellBoth']);
  assert.deepEqual(calls(two), ['tellTwo', 'tellBoth']);
  await one.cdp.close();
  await until('its script is gone', async () => {
    await two.goto(at.site.url('/two?alone'));
    return (await two.evaluate('window.sawEarly')) === ' two';
  });
  assert.deepEqual(await two.evaluate('[typeof tellOne, typeof tellTwo, typeof tellBoth]'), ['undefined', 'function', 'function']);
  await two.evaluate('tellBoth("d")');
  await two.event('Runtime.bindingCalled', ({ payload }) => payload === 'd');
});

test('a request that a killed client had paused goes on', async (t) => {
  const place = await tab(t, '/two?killed');
  const [one, victim] = [await Client.on(t, place), await Client.on(t, place)];
  await victim.send('Fetch.enable', { patterns: [{ urlPattern: '*/api' }] });
  const answer = one.evaluate('fetch("/api").then((r) => r.json())');
  await victim.event('Fetch.requestPaused');
  await victim.die();
  assert.deepEqual(await within(5_000, 'the request goes on', answer), { from: 'server' });
});

test('a client killed while its evaluate runs leaves the others theirs', async (t) => {
  const place = await tab(t, '/two?running');
  const [one, victim] = [await Client.on(t, place), await Client.on(t, place)];
  const mine = one.evaluate('new Promise((resolve) => { window.mine = resolve; })');
  const lost = victim.evaluate('new Promise((resolve) => { window.theirs = resolve; })').catch((error) => error.message);
  await until('both run', () => one.evaluate('!!window.mine && !!window.theirs'));
  await victim.die();
  assert.match(await lost, /socket closed/);
  await one.evaluate('window.theirs("nobody waits"); window.mine("done")');
  assert.equal(await mine, 'done');
});

test('a client killed while a dialog is open leaves a page that goes on', async (t) => {
  const place = await tab(t, '/dialogs?killed');
  const [one, victim] = [await Client.on(t, place), await Client.on(t, place, 'Page')];
  const asked = victim.event('Page.javascriptDialogOpening');
  victim.evaluate('confirm("well?")').catch(() => {});
  await asked;
  await victim.die();
  assert.equal(await within(10_000, 'the page answers', one.evaluate('6 * 7')), 42);
});

test('events of a session of newCDPSession arrive, beside those of the page', async (t) => {
  const { context } = await playwright(t);
  const page = await context.newPage();
  t.after(() => page.close());
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Runtime.enable');
  const got = [];
  session.on('Network.requestWillBeSent', ({ request }) => got.push(request.url));
  const said = new Promise((resolve) => session.once('Runtime.consoleAPICalled', resolve));
  const heard = page.waitForEvent('console');
  await page.goto(at.site.url('/two?session'));
  await page.evaluate(() => console.log('said'));
  assert.equal((await within(5_000, 'console', said)).args[0].value, 'said');
  assert.equal((await heard).text(), 'said');
  assert.ok(got.includes(at.site.url('/two?session')));
});

test('cookies of the profile are read and set by one client and seen by another', async (t) => {
  const [one, two] = [await playwright(t), await pup(t)];
  const page = await one.context.newPage();
  t.after(() => page.close());
  await page.goto(at.site.url('/cookie'));
  const { value } = (await two.browser.cookies()).find(({ name }) => name === 'knot');
  assert.equal(value, 'bowline');
  await two.browser.setCookie({ name: 'hitch', value: 'clove', domain: '127.0.0.1', path: '/' });
  assert.match(await page.evaluate(() => document.cookie), /hitch=clove/);
  await one.context.clearCookies();
  assert.deepEqual(await two.browser.cookies(), []);
});

test('two clients each get a download with its content', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'bowline-e2e-files-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const [one, two] = [await playwright(t), await playwright(t)];
  const page = await one.context.newPage();
  t.after(() => page.close());
  await page.goto(at.site.url('/downloads'));
  const twin = await until('the other sees the page', () => two.page(at.site.url('/downloads')));
  await twin.title();
  for (const [link, content] of [['#get', SMALL_FILE], ['#big', BIG_FILE]]) {
    const [mine, theirs] = await Promise.all([page.waitForEvent('download'), twin.waitForEvent('download'), page.click(link)]);
    for (const [name, download] of [['mine', mine], ['theirs', theirs]]) {
      const path = join(dir, name + link.slice(1));
      await download.saveAs(path);
      assert.deepEqual(await readFile(path), content, name);
    }
  }
});

test('the same address downloaded again gives each download its own content', async (t) => {
  const { context } = await playwright(t);
  const page = await context.newPage();
  t.after(() => page.close());
  await page.goto(at.site.url('/numbers'));
  for (const expected of ['1', '2', '3']) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#get')]);
    assert.equal(await readFile(await download.path(), 'utf8'), expected);
  }
});

test('a click in a tab behind another one does not wait for the screen', async (t) => {
  const { context } = await playwright(t);
  const page = await context.newPage();
  t.after(() => page.close());
  await page.goto(at.site.url('/downloads?behind'));
  for (let i = 0; i < 3; i++) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#get')]);
    await download.path();
    const { ms } = await timed(() => page.click('#get', { trial: true }));
    assert.ok(ms < 1_000, `click ${i}: ${ms} ms`);
  }
});

test('popups of both kinds are told to every client, first created, then attached, with their opener', async (t) => {
  const place = await tab(t, '/popups?told');
  const clients = await Promise.all([Client.on(t, place), Client.on(t, place)]);
  for (const { cdp } of clients) {
    await cdp.send('Target.setDiscoverTargets', { discover: true });
    await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true });
  }
  for (const [open, query] of [['void window.open("/two?opened")', 'opened'], ['document.querySelector("#blank").click()', 'blank'],
    ['document.querySelector("#noopener").click()', 'noopener']]) {
    await clients[0].evaluate(open, { userGesture: true });
    for (const { cdp } of clients) {
      const about = ({ targetInfo }) => targetInfo.type === 'page' && targetInfo.url.endsWith(`/two?${query}`);
      const { params: { targetInfo } } = await cdp.event('Target.targetInfoChanged', about).catch(() => cdp.event('Target.targetCreated', about));
      const { targetId } = targetInfo;
      const attached = await cdp.event('Target.attachedToTarget', (params) => params.targetInfo.targetId === targetId);
      const told = cdp.events.filter(({ params }) => params.targetInfo?.targetId === targetId).map(({ method }) => method);
      assert.deepEqual(told.slice(0, 2), ['Target.targetCreated', 'Target.attachedToTarget'], query);
      if (query !== 'noopener') assert.equal(attached.params.targetInfo.openerId, place.targetId, query);
      await until('it can be driven', async () => (await cdp.evaluate('document.title', attached.params.sessionId)) === 'two');
    }
  }
  const { targetInfos } = await clients[0].cdp.send('Target.getTargets');
  for (const { targetId } of targetInfos.filter(({ type, url }) => type === 'page' && /\?(opened|blank|noopener)$/.test(url))) {
    await clients[0].cdp.send('Target.closeTarget', { targetId });
    for (const { cdp } of clients) await cdp.event('Target.targetDestroyed', (params) => params.targetId === targetId);
  }
});

test('a popup is a popup for two Playwrights at once', async (t) => {
  const place = await tab(t, '/popups?two');
  const [one, two] = [await playwright(t), await playwright(t)];
  const [mine, theirs] = [one.page(place.url), two.page(place.url)];
  await Promise.all([mine.title(), theirs.title()]);
  const [popup, twin] = await Promise.all([mine.waitForEvent('popup'), theirs.waitForEvent('popup'), mine.click('#open')]);
  await Promise.all([popup, twin].map((page) => page.waitForURL('**/two?popup')));
  assert.deepEqual([await popup.opener(), await twin.opener()], [mine, theirs]);
  await popup.close();
  await until('both know that it is closed', () => popup.isClosed() && twin.isClosed());
});

test('frames of other origins and workers have a session for each client', async (t) => {
  const place = await tab(t, '/frames?sessions');
  const clients = await Promise.all([Client.on(t, place, 'Page'), Client.on(t, place, 'Page')]);
  const below = async (client, type) =>
    (await client.event('Target.attachedToTarget', ({ targetInfo }) => targetInfo.type === type)).params.sessionId;
  for (const client of clients) {
    await client.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true });
    await client.evaluate('1');
  }
  const frames = await Promise.all(clients.map((client) => below(client, 'iframe')));
  assert.notEqual(frames[0], frames[1]);
  for (const [i, { cdp }] of clients.entries()) {
    await cdp.send('Runtime.runIfWaitingForDebugger', {}, frames[i]);
    assert.equal(await cdp.evaluate('location.hostname', frames[i]), 'localhost');
  }
  await clients[0].send('Page.navigate', { url: at.site.url('/workers?sessions') });
  const workers = await Promise.all(clients.map((client) => below(client, 'worker')));
  // It runs when both have said so.
  await Promise.all(clients.map(({ cdp }, i) => cdp.send('Runtime.runIfWaitingForDebugger', {}, workers[i])));
  for (const [i, { cdp }] of clients.entries()) {
    await cdp.event('Target.detachedFromTarget', ({ sessionId }) => sessionId === frames[i]);
    await until('the worker runs', async () => (await cdp.evaluate('self.kind', workers[i])) === 'dedicated');
  }
  await clients[0].cdp.close();
  assert.equal(await clients[1].cdp.evaluate('6 * 7', workers[1]), 42);
});

test('a dialog is told to both clients, and the answer of either closes it for both', async (t) => {
  const place = await tab(t, '/dialogs?two');
  const [one, two] = [await Client.on(t, place, 'Page'), await Client.on(t, place, 'Page')];
  await two.evaluate('1');
  const answer = one.evaluate('prompt("which?", "preset")');
  for (const client of [one, two]) {
    const { params } = await client.event('Page.javascriptDialogOpening');
    assert.deepEqual([params.message, params.type, params.defaultPrompt], ['which?', 'prompt', 'preset']);
  }
  await two.send('Page.handleJavaScriptDialog', { accept: true, promptText: 'bowline' });
  assert.equal(await answer, 'bowline');
  for (const client of [one, two]) await client.event('Page.javascriptDialogClosed', ({ result }) => result);
  await assert.rejects(one.send('Page.handleJavaScriptDialog', { accept: true }), /No dialog is showing/);
});

test('a client that leaves undoes its own, while the other goes on undisturbed', async (t) => {
  const place = await tab(t, '/two?leaves');
  const [one, two] = [await Client.on(t, place, 'Page', 'Runtime', 'Network'), await Client.on(t, place, 'Page', 'Runtime', 'Network')];
  await one.send('Network.setCacheDisabled', { cacheDisabled: true });
  await two.send('Emulation.setUserAgentOverride', { userAgent: 'Knot/2.0' });
  await two.evaluate('1');
  await one.evaluate('1');
  await one.cdp.close();
  const noise = two.events('Runtime').length;
  await stays('nothing is told of the one that left', () => two.events('Runtime').length === noise, 300);
  assert.equal(await two.evaluate('navigator.userAgent'), 'Knot/2.0');
  await two.evaluate('console.log("still"); fetch("/api").then((r) => r.text())');
  await two.event('Runtime.consoleAPICalled');
  await two.event('Network.loadingFinished');
  const loaderId = await two.goto(at.site.url('/three?leaves'));
  await two.event('Page.frameNavigated', ({ frame }) => frame.loaderId === loaderId);
});
