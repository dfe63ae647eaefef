// A hub that wants the token everywhere: every way to bring it, and what happens without.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import WebSocket from 'ws';
import { Cdp } from './lib/cdp.mjs';
import { DIRECT, hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { Home } from './lib/hub.mjs';
import { http } from './lib/http.mjs';
import { endpointOf } from './lib/life.mjs';
import { test } from './lib/test.mjs';
import { within } from './lib/until.mjs';

const at = fixture({
  target: false,
  async open(own) {
    if (DIRECT) return;
    own.home = await Home.make({ BOWLINE_CDP_REQUIRE_TOKEN: 'true' });
    own.hub = await own.home.serve();
    own.endpoint = await endpointOf(own.home);
    own.bare = `http://127.0.0.1:${own.hub.port}`;
    own.token = new URL(own.endpoint).pathname.slice('/t/'.length);
    own.wrong = `${own.token.slice(0, -1)}${own.token.endsWith('A') ? 'B' : 'A'}`;
    own.socket = `ws://127.0.0.1:${own.hub.port}/devtools/browser`;
  },
  close: (own) => own.hub?.stop(),
});

const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` } });

/** Opens with these subprotocols; gives the chosen one and the browser's name, or the status. */
async function withProtocols(url, protocols) {
  const socket = new WebSocket(url, protocols);
  const opened = new Promise((resolve, reject) => {
    socket.on('open', () => socket.send('{"id":1,"method":"Browser.getVersion"}'));
    socket.on('message', (data) => resolve({ protocol: socket.protocol, product: JSON.parse(data).result.product }));
    socket.on('unexpected-response', (_, response) => resolve({ status: response.statusCode }));
    socket.on('error', reject);
  });
  return within(15_000, `open ${url}`, opened).finally(() => socket.terminate());
}

/** The status with which an upgrade is refused. */
const refused = (url, options) => Cdp.connect(url, options).then(
  async (cdp) => { await cdp.close(); return 'opened'; }, (error) => error.status);

test('the plain door is closed, says how to get in, and launches nothing', hubOnly, async () => {
  for (const path of ['/json/version', '/json', '/json/list', '/json/protocol', '/b/default/json/version']) {
    const { status, text, headers } = await http(at.bare, path);
    assert.equal(status, 401, path);
    assert.match(text, /bowline endpoint/);
    assert.equal(headers['www-authenticate'], 'Bearer');
  }
  assert.equal((await http(at.bare, '/json/new?about:blank', { method: 'PUT' })).status, 401);
  assert.equal(await refused(at.socket), 401);
  assert.equal(await refused(`ws://127.0.0.1:${at.hub.port}/devtools/page/X`), 401);
  assert.equal((await http(at.bare, '/healthz')).status, 200, 'whether it lives is no secret');
  assert.deepEqual(at.home.browsers(), []);
});

test('a wrong token is refused wherever it stands, and launches nothing', hubOnly, async () => {
  const wrongs = [at.wrong, '', at.token.slice(0, -1), `${at.token}A`, at.token.toLowerCase(), '%00'];
  for (const wrong of wrongs) {
    assert.equal((await http(at.bare, `/t/${wrong}/json/version`)).status, 401, `path ${wrong}`);
    assert.equal((await http(at.bare, `/json/version?token=${wrong}`)).status, 401, `query ${wrong}`);
    assert.equal((await http(at.bare, '/json/version', bearer(wrong))).status, 401, `header ${wrong}`);
  }
  assert.equal((await http(at.bare, '/json/version', { headers: { authorization: `Basic ${at.token}` } })).status, 401);
  assert.equal(await refused(`${at.socket}?token=${at.wrong}`), 401);
  assert.equal(await refused(at.socket, bearer(at.wrong)), 401);
  assert.deepEqual(await withProtocols(at.socket, [`bowline.token.${at.wrong}`]), { status: 401 });
  assert.deepEqual(await withProtocols(at.socket, [at.token]), { status: 401 });
  assert.deepEqual(at.home.browsers(), []);
});

test('another site\'s page is refused even with the token', hubOnly, async () => {
  const path = `/t/${at.token}/json/version`;
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, { origin: 'http://evil.test' }, { origin: 'null' }]) {
    assert.equal((await http(at.bare, path, { headers })).status, 403, JSON.stringify(headers));
    assert.equal(await refused(`${at.socket}?token=${at.token}`, { headers }), 403, JSON.stringify(headers));
  }
  const { status } = await http(at.bare, path, { headers: { host: `evil.test:${at.hub.port}` } });
  assert.equal(status, 500, 'a name that leads here');
  assert.deepEqual(at.home.browsers(), []);
});

test('path, query, header and subprotocol each open the door', hubOnly, async () => {
  for (const [base, path, options] of [
    [at.endpoint, '/json/version'],
    [at.endpoint, '/b/default/json/version'],
    [at.bare, `/json/version?token=${at.token}`],
    [at.bare, '/json/version', bearer(at.token)],
  ]) {
    const { status, text } = await http(base, path, options);
    assert.equal(status, 200, `${base}${path}: ${text}`);
  }
  for (const [url, options] of [
    [`ws://127.0.0.1:${at.hub.port}/t/${at.token}/devtools/browser`],
    [`${at.socket}?token=${at.token}`],
    [at.socket, bearer(at.token)],
  ]) {
    const cdp = await Cdp.connect(url, options);
    assert.match((await cdp.send('Browser.getVersion')).product, /^Chrome\//);
    await cdp.close();
  }
  const offered = `bowline.token.${at.token}`;
  assert.equal((await withProtocols(at.socket, [offered])).protocol, offered, 'the only one offered is chosen');
  const { protocol, product } = await withProtocols(at.socket, ['bowline', offered]);
  assert.equal(protocol, 'bowline', 'the token is not sent back if it need not be');
  assert.match(product, /^Chrome\//);
});

test('the answers below the token name URLs below the token', hubOnly, async () => {
  const prefix = `ws://127.0.0.1:${at.hub.port}/t/${at.token}`;
  const { webSocketDebuggerUrl: browser } = (await http(at.endpoint, '/json/version')).json();
  assert.ok(browser.startsWith(`${prefix}/devtools/browser/`), browser);
  const page = (await http(at.endpoint, '/json/new?about:blank', { method: 'PUT' })).json();
  assert.ok(page.webSocketDebuggerUrl.startsWith(`${prefix}/devtools/page/`), page.webSocketDebuggerUrl);
  const list = (await http(at.endpoint, '/json/list')).json();
  assert.ok(list.length > 0 && list.every((target) => target.webSocketDebuggerUrl.startsWith(prefix)));
  for (const url of [browser, page.webSocketDebuggerUrl]) {
    const cdp = await Cdp.connect(url);
    await cdp.send('Target.getTargetInfo');
    await cdp.close();
  }
  const named = (await http(at.endpoint, '/b/default/json/version')).json().webSocketDebuggerUrl;
  assert.ok(named.startsWith(`${prefix}/b/default/devtools/browser/`), named);
  assert.equal((await http(at.endpoint, `/json/close/${page.id}`)).status, 200);
});

for (const [what, url, options] of [
  ['the path', () => at.endpoint],
  ['the path of the WebSocket URL', async () => endpointOf(at.home, '--ws')],
  ['a header', () => at.bare, () => bearer(at.token)],
  ['the query', () => `${at.bare}/?token=${at.token}`],
]) {
  test(`Playwright connects with the token in ${what}`, hubOnly, async () => {
    const browser = await chromium.connectOverCDP(await url(), options?.());
    const page = await browser.contexts()[0].newPage();
    await page.goto(at.site.url('/two'));
    assert.equal(await page.title(), 'two');
    await page.close();
    await browser.close();
  });
}
