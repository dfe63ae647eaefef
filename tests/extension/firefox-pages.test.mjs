// The person's own Firefox: what pages say and ask, their dialogs, cookies, pictures, requests and downloads.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { html } from '../e2e/lib/site.mjs';
import { test } from '../e2e/lib/test.mjs';
import { until } from '../e2e/lib/until.mjs';
import { closedPort, OwnFirefox } from './lib/own-firefox.mjs';

const PAGES = {
  '/errors': html('errors', '<button id=go onclick="knot()">go</button>', `function knot() { throw new RangeError('slipped'); } Promise.reject(new Error('nobody caught it')); console.log('object', { a: [1, 2] }, document.body);`),
  '/early': html('early', '', `window.answer = confirm('so early?'); document.title = String(answer);`),
  '/wide': html('wide', '<div style="width:3000px;height:2000px;background:linear-gradient(red, blue)"></div>'),
  '/redirect': { status: 302, headers: { location: '/api' }, body: '' },
  '/binary': { type: 'application/octet-stream', body: Buffer.from([0xff, 0, 0xfe, 1]) },
  '/requests': html('requests', '', `window.go = async () => { const answer = await fetch('/echo', { method: 'POST', headers: { 'x-knot': 'bowline' }, body: 'rope' }); return answer.json(); };`),
};

let own;
before(async () => { own = await OwnFirefox.start({ pages: PAGES }); });
after(async () => { await own?.stop(); });

/** Width and height of a PNG. */
const sizeOf = (data) => { const bytes = Buffer.from(data, 'base64'); return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]; };

test('the console and uncaught errors are told, from the first line on', async () => {
  const context = await own.open('/console');
  const of = (text) => own.event('log.entryAdded', (entry) => entry.source.context === context && entry.text === text);
  assert.deepEqual((({ type, level, method, args }) => [type, level, method, args.length])(await of('hello 42')), ['console', 'info', 'log', 2]);
  assert.equal((await of('careful')).level, 'warn');
  assert.equal((await of('broken')).level, 'error');

  const errors = await own.open('/errors');
  await own.click(errors, '#go');
  const thrown = await own.event('log.entryAdded', (entry) => entry.type === 'javascript' && entry.text === 'RangeError: slipped');
  assert.equal(thrown.source.context, errors);
  assert.equal(thrown.stackTrace.callFrames[0].functionName, 'knot');
  await own.event('log.entryAdded', (entry) => entry.type === 'javascript' && entry.text === 'Error: nobody caught it');
  const { args } = await own.event('log.entryAdded', (entry) => entry.text.startsWith('object Object(1)'));
  assert.deepEqual(args[1], { type: 'object', value: [['a', { type: 'array', value: [{ type: 'number', value: 1 }, { type: 'number', value: 2 }] }]] });
  assert.equal(args[2].type, 'node');
});

test('dialogs hold the page until they are answered, also before the page is there', async () => {
  const context = await own.open('/dialogs');
  const done = own.click(context, '#go');
  const opened = (type) => own.event('browsingContext.userPromptOpened', (told) => told.context === context && told.type === type);
  assert.deepEqual((({ message, handler }) => [message, handler])(await opened('alert')), ['one', 'ignore']);
  assert.ok(!own.events('browsingContext.userPromptOpened').some(({ type }) => type === 'confirm'), 'the page waits');
  await own.ask('browsingContext.handleUserPrompt', { context });
  await opened('confirm');
  await own.ask('browsingContext.handleUserPrompt', { context, accept: false });
  assert.equal((await opened('prompt')).defaultValue, 'preset');
  await own.ask('browsingContext.handleUserPrompt', { context, accept: true, userText: 'bowline' });
  await done;
  assert.deepEqual(await own.evaluate(context, 'answers.map(String)'), ['undefined', 'false', 'bowline']);
  const closed = own.events('browsingContext.userPromptClosed').filter((told) => told.context === context);
  assert.deepEqual(closed.map(({ type, accepted, userText }) => [type, accepted, userText]), [['alert', true, undefined], ['confirm', false, undefined], ['prompt', true, 'bowline']]);
  await assert.rejects(own.ask('browsingContext.handleUserPrompt', { context }), { code: 'no such alert' });

  const early = await own.open('/');
  await own.ask('browsingContext.navigate', { context: early, url: `${own.site.origin}/early`, wait: 'none' });
  await own.event('browsingContext.userPromptOpened', (told) => told.message === 'so early?');
  await own.ask('browsingContext.handleUserPrompt', { context: early });
  await until('the page went on', async () => await own.evaluate(early, 'document.title').catch(() => '') === 'true');
  assert.ok(!own.site.requests.some((one) => one.includes('prompt-')));
});

test('cookies are read, set and taken away', async () => {
  const context = await own.open('/cookie');
  const partition = { type: 'context', context };
  const { cookies: [knot] } = await own.ask('storage.getCookies', { filter: { name: 'knot' }, partition });
  assert.deepEqual([knot.value, knot.domain, knot.path, knot.secure, knot.size], [{ type: 'string', value: 'bowline' }, '127.0.0.1', '/', false, 11]);
  assert.ok(knot.expiry > Date.now() / 1000);
  await own.ask('storage.setCookie', { cookie: { name: 'hitch', value: { type: 'string', value: 'clove' }, domain: '127.0.0.1', httpOnly: true, sameSite: 'lax' }, partition });
  const { cookies: [hitch] } = await own.ask('storage.getCookies', { filter: { name: 'hitch', domain: '127.0.0.1' } });
  assert.deepEqual([hitch.httpOnly, hitch.sameSite, hitch.expiry], [true, 'lax', undefined]);
  const told = await own.evaluate(context, 'fetch("/echo").then((answer) => answer.json()).then((echo) => echo.headers.cookie)');
  assert.match(told, /hitch=clove/);
  await own.ask('storage.deleteCookies', { filter: { name: 'hitch' }, partition });
  assert.deepEqual((await own.ask('storage.getCookies', { filter: { name: 'hitch' } })).cookies, []);
});

test('pictures are of what is seen, of a part and of the whole page, also in the background', async () => {
  const context = await own.open('/wide');
  const front = await own.open('/');
  const ratio = await own.evaluate(context, 'devicePixelRatio');
  const view = await own.evaluate(context, '[innerWidth, innerHeight]');
  const shot = async (params) => sizeOf((await own.ask('browsingContext.captureScreenshot', { context, ...params })).data).map((side) => Math.round(side / ratio));
  assert.deepEqual(await shot({}), view);
  assert.deepEqual(await shot({ origin: 'document', clip: { type: 'box', x: 100, y: 1000, width: 300, height: 200 } }), [300, 200]);
  const [width, height] = await shot({ origin: 'document' });
  assert.ok(width >= 3000 && height >= 2000, `${width} ${height}`);
  const { data } = await own.ask('browsingContext.captureScreenshot', { context, format: { type: 'image/jpeg', quality: 0.5 } });
  assert.equal(Buffer.from(data, 'base64').subarray(0, 2).toString('hex'), 'ffd8');
  const { data: webp } = await own.ask('browsingContext.captureScreenshot', { context, format: { type: 'image/webp' } });
  assert.equal(Buffer.from(webp, 'base64').subarray(8, 12).toString(), 'WEBP');
  await assert.rejects(own.ask('browsingContext.captureScreenshot', { context, format: { type: 'image/gif' } }), { code: 'unsupported operation' });
  await assert.rejects(own.ask('browsingContext.captureScreenshot', { context, clip: { type: 'box', x: 9e4, y: 0, width: 1, height: 1 } }), { code: 'unable to capture screen' });
  await own.ask('browsingContext.close', { context: front });
});

test('requests are told only while somebody listens, with their bodies if they are collected', async () => {
  const context = await own.open('/requests');
  assert.equal(own.events('network.beforeRequestSent').length, 0);
  const { subscription } = await own.ask('session.subscribe', { events: ['network'] });
  const { collector } = await own.ask('network.addDataCollector', { dataTypes: ['request', 'response'], maxEncodedDataSize: 1_000_000 });
  const echo = await own.evaluate(context, 'go()');
  assert.equal(echo.method, 'POST');
  const sent = await own.event('network.beforeRequestSent', ({ request }) => request.url.endsWith('/echo'));
  assert.deepEqual([sent.context, sent.request.method, sent.isBlocked, sent.redirectCount], [context, 'POST', false, 0]);
  assert.equal(sent.request.headers.find(({ name }) => name.toLowerCase() === 'x-knot').value.value, 'bowline');
  const { response, request: { request } } = await own.event('network.responseCompleted', (told) => told.request.url.endsWith('/echo'));
  assert.deepEqual([response.status, response.mimeType, request], [200, 'application/json', sent.request.request]);
  const { bytes } = await own.ask('network.getData', { dataType: 'response', request, collector });
  assert.equal(JSON.parse(bytes.value).method, 'POST');
  assert.deepEqual((await own.ask('network.getData', { dataType: 'request', request })).bytes, { type: 'string', value: 'rope' });

  await own.evaluate(context, 'fetch("/redirect").then((answer) => answer.text())');
  const redirected = await own.event('network.responseCompleted', (told) => told.request.url.endsWith('/api'));
  assert.equal(redirected.redirectCount, 1);
  assert.equal(own.events('network.responseCompleted').find((told) => told.request.url.endsWith('/redirect')).response.status, 302);
  await own.evaluate(context, 'fetch("/binary").then((answer) => answer.arrayBuffer()).then(() => 0)');
  const binary = await own.event('network.responseCompleted', (told) => told.request.url.endsWith('/binary'));
  assert.deepEqual((await own.ask('network.getData', { dataType: 'response', request: binary.request.request })).bytes, { type: 'base64', value: '/wD+AQ==' });
  const nobody = `http://127.0.0.1:${await closedPort()}/`;
  await own.evaluate(context, `fetch("${nobody}").catch(() => 0)`);
  await own.event('network.fetchError', (told) => told.request.url === nobody);

  await own.ask('network.removeDataCollector', { collector });
  await assert.rejects(own.ask('network.getData', { dataType: 'response', request }), { code: 'no such network data' });
  await own.ask('session.unsubscribe', { subscriptions: [subscription] });
  const count = own.events('network.beforeRequestSent').length;
  await own.evaluate(context, 'go()');
  assert.equal(own.events('network.beforeRequestSent').length, count);
});

test('a request is held, changed, let go and failed', async () => {
  const context = await own.open('/requests');
  const { subscription } = await own.ask('session.subscribe', { events: ['network'] });
  const { intercept } = await own.ask('network.addIntercept', { phases: ['beforeRequestSent'], urlPatterns: [{ type: 'pattern', pathname: '/echo' }] });
  const held = async (seen) => until('a held request', () => own.events('network.beforeRequestSent').filter(({ isBlocked }) => isBlocked)[seen]);
  const before = own.events('network.beforeRequestSent').filter(({ isBlocked }) => isBlocked).length;
  const going = own.evaluate(context, 'go()');
  const first = await held(before);
  assert.deepEqual(first.intercepts, [intercept]);
  await own.ask('network.continueRequest', { request: first.request.request, headers: [...first.request.headers, { name: 'x-more', value: { type: 'string', value: 'rope' } }] });
  assert.equal((await going).headers['x-more'], 'rope');
  const failing = own.evaluate(context, 'go().catch((error) => error.name)');
  await own.ask('network.failRequest', { request: (await held(before + 1)).request.request });
  assert.equal(await failing, 'TypeError');
  await own.ask('network.removeIntercept', { intercept });
  assert.equal((await own.evaluate(context, 'go()')).method, 'POST');
  await own.ask('session.unsubscribe', { subscriptions: [subscription] });
});

test('a download is told with its name and its end', async () => {
  const context = await own.open('/downloads');
  await own.click(context, '#get');
  const begun = await own.event('browsingContext.downloadWillBegin');
  assert.deepEqual([begun.context, begun.suggestedFilename, begun.url], [context, 'knots.bin', `${own.site.origin}/file`]);
  const ended = await own.event('browsingContext.downloadEnd');
  assert.equal(ended.status, 'complete');
  assert.match(ended.filepath, /knots\.bin$/);
});
