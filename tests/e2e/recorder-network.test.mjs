// What a request's record says: every hop, the headers as they were sent, how it ended and why, what
// went over its socket, and the body for as long as the browser has it.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { WebSocketServer } from 'ws';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { freePort } from './lib/life.mjs';
import { Rest } from './lib/rest.mjs';
import { html, js } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { until } from './lib/until.mjs';

const BODY_CAP = 64 * 1024;
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

const redirect = (status, to) => ({ status, headers: { location: to }, body: '' });

const pages = {
  '/hop-1': redirect(302, '/hop-2?a=1'),
  '/hop-2': redirect(301, '/hop-3'),
  '/hop-3': html('arrived', ''),
  '/post-me': redirect(303, '/api'),
  '/secrets': { headers: { 'set-cookie': ['sid=c00kie-s3cret; Path=/; HttpOnly', 'lang=knots; Path=/'] }, body: html('secrets', '') },
  '/slow': { answer: (_, res) => { setTimeout(() => res.end('slow'), 150); } },
  '/zipped': { type: 'text/plain', headers: { 'content-encoding': 'gzip' }, body: gzipSync('knot '.repeat(10_000)) },
  '/kept.js': { type: 'text/javascript', headers: { 'cache-control': 'max-age=3600' }, body: 'window.kept = true;' },
  '/keeps': html('keeps', '<script src=/kept.js></script>'),
  '/pixel.png': { type: 'image/png', body: PNG },
  '/text': { type: 'text/plain; charset=utf-8', body: 'Grüße, \u{1f600} and a \ufffd' },
  '/long': { type: 'text/plain', body: 'ä'.repeat(BODY_CAP) },
  '/long.png': { type: 'image/png', body: Buffer.alloc(BODY_CAP + 100, 0xff) },
  '/empty': { status: 204, body: '' },
  '/policy': { headers: { 'content-security-policy': "img-src 'none'" }, body: html('policy', '<img src=/pixel.png?csp>') },
  '/parsed': html('parsed', '\n<script src=/app.js></script>'),
  '/fetching.js': js('function load() {\n  return fetch("/api?initiated").then((r) => r.text());\n}'),
  '/events': {
    answer(_, res) {
      res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      res.write('data: one\n\nevent: named\ndata: two\ndata: lines\nid: 7\n\n');
    },
  },
  '/worker-fetch': html('worker', '', `new Worker('/worker-fetch.js')`),
  '/worker-fetch.js': js(`fetch('/api?in-worker').then((r) => r.text());`),
};

const at = fixture({
  pages,
  env: { BOWLINE_RECORDER_MAX_BODY: String(BODY_CAP) },
  async open(own) {
    if (own.target.direct) return;
    own.rest = await Rest.of(own.target);
    own.cdp = await Cdp.connect(own.target.ws);
    own.sockets = new WebSocketServer({ server: own.site.server, path: '/socket' });
    own.sockets.on('connection', (socket) => socket.on('message', (data, isBinary) =>
      socket.send(isBinary ? Buffer.from([...data].reverse()) : `echo ${data}`)));
  },
  async close(own) {
    await own.cdp?.close();
    own.sockets?.clients.forEach((socket) => socket.terminate());
    own.sockets?.close();
  },
});

async function open(path = '/') {
  const page = await at.cdp.page(at.site.url(path));
  await until(`${path} loaded`, () => at.cdp.evaluate('document.readyState === "complete" && location.href !== "about:blank"', page.sessionId));
  return {
    ...page,
    id: page.targetId,
    run: (code) => at.cdp.evaluate(code, page.sessionId),
    /** Fetches, and gives the record of it once it has ended. */
    async fetched(url, options = '{}', query) {
      await at.cdp.evaluate(`fetch(${JSON.stringify(url)}, ${options}).then((r) => r.arrayBuffer()).then(() => {}, () => {})`, page.sessionId);
      return at.rest.finished(page.targetId, new URL(url, at.site.origin).href, query);
    },
    navigate: (to) => at.cdp.send('Page.navigate', { url: to.includes(':') ? to : at.site.url(to) }, page.sessionId),
    close: () => at.cdp.send('Target.closeTarget', { targetId: page.targetId }),
  };
}

const bodyOf = (page, { seq }) => at.rest.get(`${at.rest.scope(page.id)}/network/${seq}/body`);
const noBodyOf = (page, { seq }) => at.rest.refused('GET', `${at.rest.scope(page.id)}/network/${seq}/body`);

test('each hop of a redirect is a record, and they know each other', hubOnly, async () => {
  const page = await open('/hop-1');
  const hops = await until('three hops', async () => {
    const found = (await at.rest.network(page.id)).filter(({ url }) => url.includes('/hop-'));
    return found.length === 3 && found.every(({ loadingFinished }) => loadingFinished) && found;
  });
  assert.deepEqual(hops.map(({ url, status, redirectedTo }) => [url, status, redirectedTo]), [
    [at.site.url('/hop-1'), 302, at.site.url('/hop-2?a=1')],
    [at.site.url('/hop-2?a=1'), 301, at.site.url('/hop-3')],
    [at.site.url('/hop-3'), 200, undefined],
  ]);
  assert.equal(new Set(hops.map(({ requestId }) => requestId)).size, 1);
  assert.deepEqual(hops.map(({ redirectedFrom }) => redirectedFrom), [undefined, hops[0].seq, hops[1].seq]);
  assert.equal(hops[0].responseHeaders.location, '/hop-2?a=1', 'each has its own headers');
  assert.equal(hops[2].responseHeaders.location, undefined);
  assert.ok(hops.every(({ type, method }) => type === 'Document' && method === 'GET'));
  assert.match((await noBodyOf(page, hops[0])).message, /redirect/);
  // By its request id, the body is the last hop's.
  const { body } = await at.rest.get(`${at.rest.scope(page.id)}/network/${hops[0].requestId}/body`);
  assert.match(body, /arrived/);
});

test('a redirect of a POST shows the method and data of each hop', hubOnly, async () => {
  const page = await open();
  await page.run(`fetch('/post-me', { method: 'POST', body: 'sent' }).then((r) => r.text()).then(() => {})`);
  const second = await at.rest.finished(page.id, (record) => record.url.endsWith('/api') && record.redirectedFrom);
  const first = (await at.rest.network(page.id)).find(({ seq }) => seq === second.redirectedFrom);
  assert.deepEqual([first.method, first.postData, first.status], ['POST', 'sent', 303]);
  assert.deepEqual([second.method, second.postData, second.status], ['GET', undefined, 200]);
});

test('cookies and authorizations are hidden, unless they are asked for', hubOnly, async () => {
  const page = await open('/secrets');
  const options = `{ headers: { Authorization: 'Bearer b3arer-s3cret', 'X-Plain': 'seen' } }`;
  const hidden = await page.fetched('/echo?hidden', options);
  assert.equal(hidden.headers.Cookie ?? hidden.headers.cookie, 'sid=[redacted]; lang=[redacted]');
  assert.equal(hidden.headers.Authorization ?? hidden.headers.authorization, 'Bearer [redacted]');
  assert.equal(hidden.headers['X-Plain'], 'seen');
  const document = await at.rest.finished(page.id, '/secrets');
  assert.equal(document.responseHeaders['set-cookie'] ?? document.responseHeaders['Set-Cookie'],
    'sid=[redacted]; Path=/; HttpOnly\nlang=[redacted]; Path=/');
  const everything = JSON.stringify(await at.rest.network(page.id));
  assert.doesNotMatch(everything, /s3cret/);

  const shown = await at.rest.finished(page.id, '/echo?hidden', { reveal: 1 });
  assert.equal(shown.headers.Cookie ?? shown.headers.cookie, 'sid=c00kie-s3cret; lang=knots');
  assert.equal(shown.headers.Authorization ?? shown.headers.authorization, 'Bearer b3arer-s3cret');
  const revealed = await at.rest.finished(page.id, '/secrets', { reveal: 1 });
  assert.match(revealed.responseHeaders['set-cookie'] ?? revealed.responseHeaders['Set-Cookie'], /sid=c00kie-s3cret/, 'of HttpOnly too');
  // What a page itself wrote into a body is no header.
  assert.match((await bodyOf(page, shown)).body, /b3arer-s3cret/);
});

test('posted data is recorded, long data cut', hubOnly, async () => {
  const page = await open();
  const posted = await page.fetched('/echo?json', `{ method: 'POST', body: JSON.stringify({ knot: 'bowline' }) }`);
  assert.deepEqual([posted.method, posted.postData], ['POST', '{"knot":"bowline"}']);
  const put = await page.fetched('/echo?form', `{ method: 'PUT', body: new URLSearchParams({ a: 'ä' }) }`);
  assert.deepEqual([put.method, put.postData], ['PUT', 'a=%C3%A4']);
  const long = await page.fetched('/echo?long', `{ method: 'POST', body: 'p'.repeat(200_000) }`);
  assert.ok((long.postData ?? '').length <= 64 * 1024, `${long.postData?.length}`);
});

test('a request that is refused says why', hubOnly, async () => {
  const page = await open();
  const port = await freePort();
  const record = await page.fetched(`http://127.0.0.1:${port}/nobody`);
  assert.deepEqual([record.state, record.status, record.failure.errorText], ['failed', undefined, 'net::ERR_CONNECTION_REFUSED']);
  assert.ok(!record.failure.canceled);
  const refused = await noBodyOf(page, record);
  assert.deepEqual([refused.status, refused.code], [404, 'body_gone']);
  assert.match(refused.message, /failed/);
  const failed = await at.rest.network(page.id, { failed: 1 });
  assert.deepEqual(failed.map(({ seq }) => seq), [record.seq]);
});

test('a tab that cannot be reached has the failed document in its history', hubOnly, async () => {
  const page = await open();
  const port = await freePort();
  await page.navigate(`http://127.0.0.1:${port}/dead`);
  const record = await at.rest.finished(page.id, `:${port}/dead`);
  assert.deepEqual([record.type, record.failure.errorText], ['Document', 'net::ERR_CONNECTION_REFUSED']);
});

test('what is cancelled, blocked or against CORS says so', hubOnly, async () => {
  const page = await open();
  await page.run(`{ const stop = new AbortController(); fetch('/hang?cancel', { signal: stop.signal }).catch(() => {}); window.stop = stop; }; void 0`);
  const pending = await at.rest.request(page.id, '/hang?cancel');
  assert.deepEqual([pending.state, pending.loadingFinished, pending.status], ['pending', false, undefined]);
  assert.match((await noBodyOf(page, pending)).message, /no answer yet/);
  await page.run('stop.abort()');
  const cancelled = await at.rest.finished(page.id, '/hang?cancel');
  assert.deepEqual([cancelled.state, cancelled.failure.canceled], ['failed', true]);

  const crossed = await page.fetched(`${at.site.other}/api?cors`);
  assert.equal(crossed.failure.corsError, 'MissingAllowOriginHeader');

  const strict = await open('/policy');
  const blocked = await at.rest.finished(strict.id, '/pixel.png?csp');
  assert.deepEqual([blocked.state, blocked.failure.blockedReason], ['failed', 'csp']);
});

test('a preflight is a request of its own', hubOnly, async () => {
  const page = await open();
  await page.fetched(`${at.site.other}/api?preflight`, `{ method: 'DELETE' }`);
  const preflight = await at.rest.finished(page.id, ({ method, url }) => method === 'OPTIONS' && url.endsWith('?preflight'));
  assert.equal(preflight.type, 'Preflight');
});

test('an answer out of the cache says which', hubOnly, async () => {
  const page = await open('/keeps');
  await at.rest.finished(page.id, '/kept.js');
  await page.navigate('/keeps?again');
  const records = await until('it again', async () => {
    const found = (await at.rest.network(page.id)).filter(({ url, loadingFinished }) => url.endsWith('/kept.js') && loadingFinished);
    return found.length === 2 && found;
  });
  assert.deepEqual(records.map(({ status }) => status), [200, 200]);
  assert.equal(records[0].fromCache, undefined);
  assert.match(records[1].fromCache, /^(memory|disk)$/);
  assert.equal(at.site.requests.filter((request) => request === 'GET /kept.js').length, 1);
});

test('an answer of a service worker says so', hubOnly, async () => {
  const page = await open('/service');
  await until('the service worker serves', () => page.run('!!navigator.serviceWorker.controller'));
  const record = await page.fetched('/from-sw');
  assert.equal(record.fromServiceWorker, true);
  assert.equal(record.status, 200);
  assert.equal((await bodyOf(page, record)).body, 'from the service worker');
});

test('sizes tell what came over the network and what came out of it', hubOnly, async () => {
  const page = await open();
  const record = await page.fetched('/zipped');
  assert.equal(record.bodySize, 50_000);
  assert.ok(record.transferSize > 0 && record.transferSize < 1_000, `${record.transferSize}`);
  assert.equal((await bodyOf(page, record)).size, 50_000);
  const empty = await page.fetched('/empty');
  assert.deepEqual([empty.status, empty.bodySize], [204, 0]);
});

test('a slow answer takes as long as it takes, and the timing says where', hubOnly, async () => {
  const page = await open();
  const record = await page.fetched('/slow');
  assert.ok(record.duration >= 140 && record.duration < 10_000, `${record.duration}`);
  const { sendEnd, receiveHeadersEnd } = record.timing;
  assert.ok(receiveHeadersEnd - sendEnd >= 100, `${sendEnd} to ${receiveHeadersEnd}`);
  assert.ok(Math.abs(record.timestamp - Date.now()) < 60_000);
  assert.equal(record.remoteAddress, `127.0.0.1:${at.site.port}`);
  assert.equal(record.protocol, 'http/1.1');
});

test('the initiator tells what asked for it, and where', hubOnly, async () => {
  const page = await open('/parsed');
  const script = await at.rest.finished(page.id, '/app.js');
  assert.deepEqual([script.initiator.type, script.initiator.url], ['parser', at.site.url('/parsed')]);
  assert.equal(script.type, 'Script');
  await page.run(`new Promise((done) => { const s = document.createElement('script'); s.src = '/fetching.js'; s.onload = () => load().then(done); document.body.append(s); })`);
  const fetched = await at.rest.finished(page.id, '/api?initiated');
  assert.deepEqual([fetched.initiator.type, fetched.initiator.url, fetched.initiator.lineNumber], ['script', at.site.url('/fetching.js'), 1]);
  assert.equal(fetched.type, 'Fetch');
});

test('frames of a WebSocket are recorded both ways, text and binary, to the end', hubOnly, async () => {
  const page = await open();
  const url = `ws://127.0.0.1:${at.site.port}/socket`;
  await page.run(`new Promise((done) => { const s = window.socket = new WebSocket('${url}'); s.binaryType = 'arraybuffer'; let n = 0;
    s.onopen = () => { s.send('hello'); s.send(new Uint8Array([1, 2, 255])); }; s.onmessage = () => { if (++n === 2) done(); }; })`);
  const record = await until('four frames', async () => {
    const found = (await at.rest.network(page.id)).find((one) => one.url === url);
    return found?.messages?.length === 4 && found;
  });
  assert.deepEqual([record.type, record.method, record.status, record.state, record.loadingFinished],
    ['WebSocket', 'GET', 101, 'receiving', false]);
  assert.equal(record.headers.Upgrade ?? record.headers.upgrade, 'websocket');
  const told = record.messages.map(({ direction, kind, data }) => `${direction} ${kind} ${data}`).toSorted();
  assert.deepEqual(told, ['received binary /wIB', 'received text echo hello', 'sent binary AQL/', 'sent text hello']);
  for (const { timestamp } of record.messages) assert.ok(Math.abs(timestamp - Date.now()) < 60_000, `${timestamp}`);
  await page.run('socket.close()');
  const closed = await at.rest.finished(page.id, (one) => one.url === url);
  assert.equal(closed.state, 'finished');
  assert.match((await noBodyOf(page, closed)).message, /frames/);
});

test('a WebSocket that nobody answers is a failure', hubOnly, async () => {
  const page = await open();
  const url = `ws://127.0.0.1:${await freePort()}/nobody`;
  await page.run(`new Promise((done) => { new WebSocket('${url}').onerror = () => done(); })`);
  const record = await at.rest.finished(page.id, (one) => one.url === url);
  assert.deepEqual([record.state, record.status], ['failed', undefined]);
  assert.ok(record.failure.errorText);
});

test('messages of an EventSource are recorded by their names', hubOnly, async () => {
  const page = await open();
  await page.run(`new Promise((done) => { window.source = new EventSource('/events'); source.addEventListener('named', () => done()); })`);
  const record = await until('both', async () => {
    const found = (await at.rest.network(page.id)).find(({ url }) => url.endsWith('/events'));
    return found?.messages?.length === 2 && found;
  });
  assert.deepEqual([record.type, record.state], ['EventSource', 'receiving']);
  assert.deepEqual(record.messages.map(({ direction, kind, data }) => [direction, kind, data]),
    [['received', 'message', 'one'], ['received', 'named', 'two\nlines']]);
  await page.run('source.close()');
});

test('bodies are given as text or, where they are none, as base64', hubOnly, async () => {
  const page = await open();
  const text = await bodyOf(page, await page.fetched('/text'));
  assert.deepEqual(text, { body: pages['/text'].body, base64Encoded: false, size: Buffer.byteLength(pages['/text'].body) });
  const image = await bodyOf(page, await page.fetched('/pixel.png'));
  assert.deepEqual(image, { body: PNG.toString('base64'), base64Encoded: true, size: PNG.length });
  const found = await at.rest.network(page.id, { includeResponseBody: 1, urlPattern: '/text$' });
  assert.deepEqual(found.map(({ responseBody }) => responseBody.body), [pages['/text'].body]);
});

test('a body longer than the limit is cut, and says how long it was', hubOnly, async () => {
  const page = await open();
  const text = await bodyOf(page, await page.fetched('/long'));
  assert.deepEqual([text.truncated, text.size], [true, 2 * BODY_CAP]);
  assert.equal(text.body, 'ä'.repeat(BODY_CAP / 2));
  const image = await bodyOf(page, await page.fetched('/long.png'));
  assert.deepEqual([image.truncated, image.size], [true, BODY_CAP + 100]);
  const bytes = Buffer.from(image.body, 'base64');
  assert.ok(bytes.length <= BODY_CAP && bytes.length > BODY_CAP - 4, `${bytes.length}`);
  assert.ok(bytes.equals(Buffer.alloc(bytes.length, 0xff)));
});

test('the body of a page is still there after it has gone elsewhere, also to another process', hubOnly, async () => {
  const page = await open('/hop-3');
  const fetched = await page.fetched('/api?before');
  const document = await at.rest.finished(page.id, '/hop-3');
  await page.navigate('/two');
  await at.rest.finished(page.id, '/two');
  await page.navigate(`${at.site.other}/three`);
  await at.rest.finished(page.id, `${at.site.other}/three`);
  assert.match((await bodyOf(page, document)).body, /arrived/);
  assert.equal((await bodyOf(page, fetched)).body, '{"from":"server"}');
});

test('bodies of frames and workers are there as well', hubOnly, async () => {
  const frames = await open('/frames');
  const frame = await at.rest.finished(frames.id, `${at.site.other}/frame?other`);
  assert.match((await bodyOf(frames, frame)).body, /hits/);
  const worker = await open('/worker-fetch');
  const fetched = await at.rest.finished(worker.id, '/api?in-worker');
  assert.equal((await bodyOf(worker, fetched)).body, '{"from":"server"}');
});

test('the body of a closed tab is gone, which is said; its records are not', hubOnly, async () => {
  const page = await open('/hop-3');
  const document = await at.rest.finished(page.id, '/hop-3');
  await page.run(`void fetch('/hang?closing').catch(() => {})`);
  await at.rest.request(page.id, '/hang?closing');
  await page.close();
  const gone = await until('the tab closed', async () => {
    const answer = await noBodyOf(page, document);
    return answer.message.includes('closed') && answer;
  });
  assert.deepEqual([gone.status, gone.code], [404, 'body_gone']);
  const left = await at.rest.network(page.id);
  assert.ok(left.some(({ seq }) => seq === document.seq));
  const abandoned = left.find(({ url }) => url.endsWith('/hang?closing'));
  assert.deepEqual([abandoned.state, abandoned.loadingFinished], ['failed', true], 'what was under way has ended');
});
