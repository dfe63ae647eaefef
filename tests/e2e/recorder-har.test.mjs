// The HTTP archive: valid by its published schema, and the same requests as Playwright's own of the visit.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { WebSocketServer } from 'ws';
import { CHROMIUM, QUIET_FLAGS, hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { validator } from './lib/har.mjs';
import { freePort } from './lib/life.mjs';
import { Rest } from './lib/rest.mjs';
import { html, js } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { until } from './lib/until.mjs';

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

const at = fixture({
  pages: {
    '/start': { status: 302, headers: { location: '/visit?a=1&b=%C3%A4', 'set-cookie': 'sid=c00kie-s3cret; Path=/; HttpOnly; SameSite=Lax' }, body: '' },
    '/visit': (url) => html('visit', `<link rel=stylesheet href=/style.css><img src=/pixel.png><img src="data:image/png;base64,${PNG.toString('base64')}">
      <script src=/old.js></script><iframe src="http://localhost:${url.port}/inside"></iframe><iframe src=/frame?same></iframe>`,
    `(async () => {
       await fetch('/api?q=1', { headers: { Authorization: 'Bearer b3arer-s3cret' } }).then((r) => r.json());
       await fetch('/echo', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"knot":"bowline"}' }).then((r) => r.text());
       await fetch('/echo?form', { method: 'POST', body: new URLSearchParams({ a: '1', b: 'two words' }) }).then((r) => r.text());
       await fetch('/nowhere').then((r) => r.text());
       await fetch('http://127.0.0.1:' + new URLSearchParams(location.hash.slice(1)).get('dead') + '/refused').catch(() => {});
       document.title = 'visited';
     })();`),
    '/style.css': { type: 'text/css', body: 'body { color: navy }' },
    '/pixel.png': { type: 'image/png', body: PNG },
    '/old.js': { status: 301, headers: { location: '/new.js' }, body: '' },
    '/new.js': js('window.loaded = true;'),
    '/inside': html('inside', '', `fetch('/api?inside').then((r) => r.text());`),
    '/talk': html('talk', '', `const s = new WebSocket('ws://' + location.host + '/socket'); s.onopen = () => s.send('hello'); s.onmessage = () => { s.close(); document.title = 'talked'; };`),
  },
  async open(own) {
    if (own.target.direct) return;
    own.rest = await Rest.of(own.target);
    own.dead = await freePort();
    own.start = `/start#dead=${own.dead}`;
    own.sockets = new WebSocketServer({ server: own.site.server, path: '/socket' });
    own.sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(`echo ${data}`)));
    own.browser = await chromium.connectOverCDP(own.target.endpoint);
    [own.context] = own.browser.contexts();
    const page = await own.context.newPage();
    await page.goto(own.site.url(own.start));
    await page.waitForFunction(() => document.title === 'visited');
    own.tab = await until('its tab', async () => (await own.rest.tabs()).find(({ title }) => title === 'visited')?.id);
    await until('everything has ended', async () => (await own.rest.network(own.tab)).every(({ loadingFinished }) => loadingFinished));
  },
  async close(own) {
    await own.browser?.close();
    own.sockets?.close();
  },
});

const harOf = (tab, query) => at.rest.get(`${at.rest.scope(tab)}/har`, query);

test('the archive is valid by the schema, with and without bodies, of a tab and of all', hubOnly, async () => {
  const validate = validator();
  assert.throws(() => validate({ log: { version: '1.2' } }), 'the schema is one');
  for (const [tab, query] of [[at.tab, {}], [at.tab, { bodies: 1, reveal: 1 }], [undefined, {}]]) {
    const har = await harOf(tab, query);
    validate(har);
    assert.ok(har.log.entries.length >= 10);
  }
});

/** What a request was and how it ended: the same words for what the two archives say differently. */
function outcome({ request, response }) {
  // Playwright writes -1 for a request without an answer, DevTools 0.
  return `${request.method} ${request.url} ${response.status > 0 ? response.status : 'failed'}`;
}

/** What Playwright leaves out by rule: a favicon is the browser's own wish, and data: is no request. */
const counts = ({ request }) => !request.url.endsWith('/favicon.ico') && !request.url.startsWith('data:');

test('it holds the same requests as Playwright\'s archive of the same visit', hubOnly, async () => {
  const path = join(at.target.home.root, 'playwright.har');
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: QUIET_FLAGS, env: { ...process.env, HOME: at.target.home.root } });
  try {
    const context = await browser.newContext({ recordHar: { path } });
    const page = await context.newPage();
    await page.goto(at.site.url(at.start));
    await page.waitForFunction(() => document.title === 'visited');
    await page.waitForLoadState('networkidle');
    await context.close();
  } finally {
    await browser.close();
  }
  const theirs = JSON.parse(await readFile(path, 'utf8')).log.entries.filter(counts).map(outcome).toSorted();
  const ours = (await harOf(at.tab)).log.entries.filter(counts).map(outcome).toSorted();
  assert.ok(theirs.length >= 12, theirs.join('\n'));
  assert.deepEqual(ours, theirs);
});

test('an entry says what the record says', hubOnly, async () => {
  const { log } = await harOf(at.tab, { bodies: 1, reveal: 1 });
  const entry = (part, method = 'GET') => log.entries.find(({ request }) => request.url.includes(part) && request.method === method);
  assert.deepEqual([log.version, log.creator.name, log.browser.name], ['1.2', 'Bowline', 'Chrome']);

  const document = entry('/visit');
  assert.deepEqual(document.request.queryString, [{ name: 'a', value: '1' }, { name: 'b', value: 'ä' }]);
  assert.deepEqual(document.request.cookies.map(({ name, value }) => [name, value]), [['sid', 'c00kie-s3cret']]);
  assert.equal(document._resourceType, 'document');
  assert.equal(document.response.content.mimeType.split(';')[0], 'text/html');
  assert.match(document.response.content.text, /<title>visit/);
  const start = entry('/start');
  assert.equal(start.response.status, 302);
  assert.ok(start.response.redirectURL.startsWith(at.site.url('/visit?a=1&b=%C3%A4')), start.response.redirectURL);
  const [cookie] = start.response.cookies;
  assert.deepEqual([cookie.name, cookie.value, cookie.httpOnly, cookie.path], ['sid', 'c00kie-s3cret', true, '/']);

  const posted = entry('/echo', 'POST');
  assert.deepEqual([posted.request.postData.mimeType, posted.request.postData.text], ['application/json', '{"knot":"bowline"}']);
  const form = entry('/echo?form', 'POST');
  assert.deepEqual(form.request.postData.params, [{ name: 'a', value: '1' }, { name: 'b', value: 'two words' }]);
  const image = entry('/pixel.png');
  assert.deepEqual([image.response.content.encoding, image.response.content.text], ['base64', PNG.toString('base64')]);
  const refused = entry('/refused');
  assert.ok(refused.response.status <= 0);
  assert.match(JSON.stringify(refused), /net::ERR_CONNECTION_REFUSED/);

  const [page] = log.pages.filter(({ id }) => id === document.pageref);
  assert.match(page.title, /^visit/);
  assert.ok(page.pageTimings.onContentLoad > 0 && page.pageTimings.onLoad >= page.pageTimings.onContentLoad, JSON.stringify(page));
  for (const { startedDateTime, time, timings } of log.entries) {
    assert.ok(Math.abs(Date.parse(startedDateTime) - Date.now()) < 120_000, startedDateTime);
    const sum = ['blocked', 'dns', 'connect', 'send', 'wait', 'receive'].reduce((all, name) => all + Math.max(0, timings[name] ?? 0), 0);
    assert.ok(Math.abs(sum - time) < 0.5, `${time} is ${JSON.stringify(timings)}`);
  }
  const started = log.entries.map(({ startedDateTime }) => startedDateTime);
  assert.deepEqual(started, started.toSorted(), 'in the order in which they were sent');
});

test('secrets are hidden in it, unless they are asked for', hubOnly, async () => {
  const text = JSON.stringify(await harOf(at.tab));
  assert.doesNotMatch(text, /s3cret/);
  assert.match(text, /\[redacted\]/);
  assert.match(JSON.stringify(await harOf(at.tab, { reveal: 1 })), /c00kie-s3cret.*b3arer-s3cret|b3arer-s3cret.*c00kie-s3cret/s);
});

test('a socket is an entry with its messages, as DevTools writes them', hubOnly, async () => {
  const page = await at.context.newPage();
  await page.goto(at.site.url('/talk'));
  await page.waitForFunction(() => document.title === 'talked');
  const socket = await until('the socket has closed', async () => {
    const { log } = await harOf(undefined);
    const found = log.entries.find(({ request }) => request.url.startsWith('ws://'));
    return found?._webSocketMessages?.length >= 2 && found;
  });
  assert.deepEqual(socket._webSocketMessages.slice(0, 2).map(({ type, opcode, data }) => [type, opcode, data]), [['send', 1, 'hello'], ['receive', 1, 'echo hello']]);
  assert.equal(socket.response.status, 101);
  validator()(await harOf(undefined));
});
