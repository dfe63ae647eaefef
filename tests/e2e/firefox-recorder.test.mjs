// The history of a Firefox that the hub has launched: console, exceptions, requests with bodies, dialogs, through the same
// REST, CLI and HAR as Chromium's; and lists of sites, which the recorder keeps.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { WebSocketServer } from 'ws';
import { Agent } from './lib/agent.mjs';
import { Bidi } from './lib/bidi.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { validator } from './lib/har.mjs';
import { endpointOf, freePort, withHome } from './lib/life.mjs';
import { signal } from './lib/processes.mjs';
import { Rest } from './lib/rest.mjs';
import { Site, html, js } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { timed, until, within } from './lib/until.mjs';

const TIMEOUT = 500;
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const session = (hub) => `${hub.endpoint.replace('http:', 'ws:')}/b/firefox/session`;

const pages = {
  '/throws': html('throws', '', `function thrower() {\n  throw new RangeError('later');\n}\nsetTimeout(thrower); Promise.reject(new TypeError('refused'));`),
  '/inside': (url) => html('inside', `<iframe src="http://localhost:${url.port}/frame-logs"></iframe>`, 'new Worker("/logs.js")'),
  '/frame-logs': html('frame', '', 'console.log("from the frame"); fetch("/api?inside")'),
  '/logs.js': js('console.log("from the worker")'),
  '/start': { status: 302, headers: { location: '/visit?a=1', 'set-cookie': 'sid=c00kie-s3cret; Path=/; HttpOnly' }, body: '' },
  '/visit': html('visit', '<link rel=stylesheet href=/style.css><img src=/pixel.png><script src=/app.js></script>', `(async () => {
    await fetch('/api?q=1', { headers: { Authorization: 'Bearer b3arer-s3cret' } }).then((r) => r.json());
    await fetch('/echo', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"knot":"bowline"}' }).then((r) => r.text());
    await fetch('/zipped').then((r) => r.text());
    await fetch('http://127.0.0.1:' + location.hash.slice(1) + '/refused').catch(() => {});
    const x = new XMLHttpRequest(); x.open('GET', '/nowhere', false); x.send();
    const s = new WebSocket('ws://' + location.host + '/socket'); await new Promise((done) => { s.onopen = done; });
    const e = new EventSource('/events'); await new Promise((done) => { e.onmessage = done; });
    document.title = 'visited';
  })();`),
  '/style.css': { type: 'text/css', body: 'body { color: navy }' },
  '/pixel.png': { type: 'image/png', body: PNG },
  '/zipped': { type: 'text/plain', headers: { 'content-encoding': 'gzip' }, body: gzipSync('knot '.repeat(1_000)) },
  '/events': { answer: (_, res) => { res.writeHead(200, { 'content-type': 'text/event-stream' }); res.write('data: one\n\n'); } },
  '/ask': html('ask', '', `const ask = () => { window.answers = [alert('one'), confirm('two'), prompt('three', 'preset')].map(String); };`),
  '/busy': html('busy', '', `setTimeout(() => fetch('/late').then((r) => r.text()).then((t) => { document.title = t; }), 200)`),
  '/late': { answer: (_, res) => { setTimeout(() => res.end('late'), 300); } },
};

const at = fixture({
  pages,
  env: { BOWLINE_DIALOGS_TIMEOUT: `${TIMEOUT}ms` },
  async open(own) {
    if (own.target.direct) return;
    own.rest = await Rest.of(own.target);
    own.rest.browser = 'firefox';
    await own.rest.post('/browsers/firefox/launch', {});
    own.bidi = await Bidi.session(session(own.target));
    own.agent = await Agent.of(own.target);
    own.agent.browser = 'firefox';
    own.dead = await freePort();
    own.sockets = new WebSocketServer({ server: own.site.server, path: '/socket' });
    own.json = (...args) => own.target.home.json(...args, '--browser', 'firefox');
  },
  async close(own) {
    await own.bidi?.close();
    own.sockets?.close();
  },
});

/** What a page has logged after running some code; the last line marks the end. */
async function logged(code) {
  const tab = await at.bidi.tab(at.site.url('/two'));
  await at.bidi.evaluate(`{ ${code}; console.log('the end') }`, tab);
  await at.rest.line(tab, 'the end');
  const records = await at.rest.console(tab);
  await at.bidi.send('browsingContext.close', { context: tab });
  return records.filter(({ text }) => text !== 'the end');
}

/** A tab that has made its visit, once. */
const visit = (() => {
  let visited;
  return () => (visited ??= (async () => {
    const tab = await at.bidi.tab(at.site.url(`/start#${at.dead}`));
    await until('it has visited', async () => (await at.bidi.evaluate('document.title', tab)) === 'visited');
    await at.rest.request(tab, '/events', undefined);
    return tab;
  })());
})();

test('each method of the console has its level, and values are shown as of a Chromium', hubOnly, async () => {
  const levels = await logged(`for (const how of ['log', 'info', 'warn', 'error', 'debug']) console[how](how + ' it')`);
  assert.deepEqual(levels.map(({ type, text, source }) => [type, text, source]),
    ['log', 'info', 'warn', 'error', 'debug'].map((how) => [how, `${how} it`, 'Runtime.consoleAPICalled']));
  for (const { timestamp } of levels) assert.ok(Math.abs(timestamp - Date.now()) < 60_000);
  const shown = await logged(`
    console.log('%s is %d', 'Ann', 42.5); console.log({ a: { b: 1 }, list: [1, 'two'] }, null, undefined, 3n, /x/g);
    console.log(new Map([['k', { v: 1 }]]), new Set([1]), document.querySelector('h1')); console.error('bad', new Error('boom'));
    console.assert(false, 'no'); console.count('c'); console.table([{ a: 1 }]); console.trace('here')`);
  assert.deepEqual(shown.map(({ text }) => text), [
    'Ann is 42', "{a: {b: 1}, list: (2) [1, 'two']} null undefined 3n /x/g", "Map(1) {'k' => {v: 1}} Set(1) {1} h1",
    'bad Error: boom', 'Assertion failed: no', 'c: 1', '[{a: 1}]', 'here',
  ]);
  assert.deepEqual(shown[1].args.map(({ type, subtype }) => subtype ?? type), ['object', 'null', 'undefined', 'bigint', 'regexp']);
  assert.deepEqual([shown[4].api, shown[6].api, shown[7].api], ['assert', 'table', 'trace']);
  assert.ok(shown[3].stackTrace.length > 0 && shown[3].location.url.includes('/two'));
});

test('exceptions, frames and workers are heard, from before anybody looked', hubOnly, async () => {
  const tab = await at.bidi.tab(at.site.url('/throws'));
  const thrown = await at.rest.line(tab, 'later');
  assert.deepEqual([thrown.type, thrown.source], ['error', 'Runtime.exceptionThrown']);
  assert.match(thrown.text, /^Uncaught RangeError: later\n {4}at thrower \(http.*\/throws:2:\d+\)/);
  assert.equal(thrown.stackTrace[0].functionName, 'thrower');
  assert.match((await at.rest.line(tab, 'refused')).text, /^Uncaught TypeError: refused/);
  await at.bidi.send('browsingContext.navigate', { context: tab, url: at.site.url('/inside'), wait: 'complete' });
  const inside = await at.rest.line(tab, 'from the frame');
  assert.deepEqual(inside.origin, { type: 'iframe', url: `${at.site.other}/frame-logs` });
  assert.notEqual(inside.frame, tab);
  await at.rest.line(tab, 'from the worker');
  assert.deepEqual([thrown.navigation, inside.navigation], [1, 2]);
  assert.equal((await at.rest.finished(tab, '/api?inside')).origin.type, 'iframe');
});

test('every hop of a visit is there, with headers, times, sizes and how it ended', hubOnly, async () => {
  const tab = await visit();
  const requests = await at.rest.network(tab);
  const of = (path) => requests.find(({ url }) => url.includes(path));
  const [start, page] = [of('/start'), of('/visit')];
  assert.deepEqual([start.status, start.type, start.requestId], [302, 'Document', page.requestId]);
  assert.equal(start.redirectedTo, page.url);
  assert.equal(page.redirectedFrom, start.seq);
  assert.deepEqual([page.status, page.statusText, page.mimeType, page.protocol, page.navigation], [200, 'OK', 'text/html', 'http/1.1', 1]);
  assert.ok(page.duration > 0 && page.transferSize > page.bodySize && page.bodySize > 500);
  assert.ok(page.timing.receiveHeadersEnd >= page.timing.sendStart && page.timing.sendStart >= 0);
  assert.deepEqual(['/style.css', '/pixel.png', '/app.js', '/api?q', '/nowhere', '/socket', '/events'].map((path) => of(path).type),
    ['Stylesheet', 'Image', 'Script', 'Fetch', 'XHR', 'WebSocket', 'EventSource']);
  assert.equal(of('/nowhere').status, 404);
  assert.deepEqual([of('/refused').state, of('/refused').failure.errorText], ['failed', 'NS_ERROR_CONNECTION_REFUSED']);
  assert.deepEqual([of('/socket').url.startsWith('ws://'), of('/socket').status, of('/socket').loadingFinished], [true, 101, false]);
  assert.deepEqual([of('/echo').method, of('/echo').postData], ['POST', '{"knot":"bowline"}']);
  const text = JSON.stringify(requests);
  assert.doesNotMatch(text, /c00kie-s3cret|b3arer-s3cret/, 'secrets are not shown');
  assert.match(JSON.stringify(await at.rest.network(tab, { reveal: 1 })), /c00kie-s3cret.*b3arer-s3cret/s);
});

test('bodies are there afterwards: texts, pictures, what was compressed', hubOnly, async () => {
  const tab = await visit();
  const body = async (path) => at.rest.get(`${at.rest.scope(tab)}/network/${(await at.rest.request(tab, path)).seq}/body`);
  assert.deepEqual(await body('/api?q'), { body: '{"from":"server"}', base64Encoded: false, size: 17 });
  assert.deepEqual(await body('/pixel.png'), { body: PNG.toString('base64'), base64Encoded: true, size: PNG.length });
  assert.equal((await body('/zipped')).body, 'knot '.repeat(1_000));
  const { seq } = await at.rest.request(tab, '/refused');
  assert.equal((await at.rest.refused('GET', `${at.rest.scope(tab)}/network/${seq}/body`)).code, 'body_gone');
});

test('the HTTP archive is valid by its schema, and has what was fetched', hubOnly, async () => {
  const tab = await visit();
  const har = await at.rest.get(`${at.rest.scope(tab)}/har`, { bodies: 1 });
  validator()(har);
  assert.equal(har.log.browser.name, 'Firefox');
  const entry = har.log.entries.find(({ request }) => request.url.includes('/api?q'));
  assert.equal(entry.response.content.text, '{"from":"server"}');
  assert.equal(har.log.entries.find(({ request }) => request.url.endsWith('/echo')).request.postData.text, '{"knot":"bowline"}');
  const page = har.log.pages.find(({ title }) => title === 'visited' || title === 'visit');
  assert.ok(page.pageTimings.onLoad > 0 && page.pageTimings.onContentLoad > 0);
});

test('tabs, console, network, eval and commands of BiDi by the CLI', hubOnly, async () => {
  const tab = await visit();
  const { tabs } = await at.json('tabs');
  const mine = tabs.find(({ id }) => id === tab);
  assert.deepEqual([mine.title, new URL(mine.url).pathname, mine.navigations], ['visited', '/visit', 1]);
  const { messages } = await at.json('console', tab);
  assert.ok(Array.isArray(messages));
  const { requests } = await at.json('network', tab, '--type', 'Fetch');
  assert.ok(requests.length >= 3 && requests.every(({ type }) => type === 'Fetch'));
  const value = async (expression) => (await at.json('eval', tab, expression)).value;
  assert.equal(await value('document.title'), 'visited');
  assert.deepEqual(await value('{a: [1, {b: null}]}'), { a: [1, { b: null }] });
  assert.equal(await value('await Promise.resolve(5)'), 5);
  assert.equal(await value('const knot = 1; knot'), 1);
  assert.equal(await value('const knot = 2; knot'), 2, 'a name is declared again');
  assert.equal(await value('const r = await fetch("/api"); (await r.json()).from'), 'server');
  const thrown = await at.target.home.run(['eval', '--browser', 'firefox', tab, 'throw new TypeError("bad")']);
  assert.notEqual(thrown.code, 0);
  assert.match(thrown.stderr, /TypeError: bad/);
  const { result } = await at.json('cdp', '--tab', tab, 'browsingContext.getTree', '{"maxDepth": 0}');
  assert.ok(result.contexts.some(({ context }) => context === tab));
  const refused = await at.rest.refused('POST', `${at.rest.scope(tab)}/execute`, { body: { method: 'browsingContext.nothing' } });
  assert.deepEqual([refused.code, refused.bidi.error], ['bidi_error', 'unknown command']);
});

test('dialogs that nobody answers are dismissed and recorded, those that somebody answers are not touched', hubOnly, async () => {
  const tab = await at.bidi.tab(at.site.url('/ask'));
  const { ms } = await timed(() => within(15_000, 'the page goes on', at.bidi.evaluate('ask()', tab)));
  assert.ok(ms >= 3 * TIMEOUT - 50, `each had its time: ${ms}`);
  assert.deepEqual(await at.bidi.evaluate('JSON.stringify(answers)', tab), '["undefined","false","null"]');
  const dismissals = async () => (await at.rest.console(tab)).filter(({ source }) => source === 'Page.javascriptDialogOpening');
  assert.deepEqual((await dismissals()).map(({ type, api }) => [type, api]), [['warn', 'alert'], ['warn', 'confirm'], ['warn', 'prompt']]);
  await at.bidi.send('session.subscribe', { events: ['browsingContext.userPromptOpened'] });
  const asked = at.bidi.evaluate('prompt("mine")', tab);
  await at.bidi.event('browsingContext.userPromptOpened', ({ message }) => message === 'mine');
  await at.bidi.send('browsingContext.handleUserPrompt', { context: tab, accept: true, userText: 'typed' });
  assert.equal(await asked, 'typed');
  assert.equal((await dismissals()).length, 3);
});

test('ops read the history, and wait until the network is idle', hubOnly, async () => {
  await at.agent.open(at.site.url('/busy'), { wait_until: 'networkidle' });
  assert.equal(await at.agent.value('document.title'), 'late');
  await at.agent.value('console.warn("from the op")');
  const lines = await until('the line', async () => (await at.agent.op('console', { level: 'warn' })).messages.filter(({ text }) => text === 'from the op'));
  assert.equal(lines.length, 1);
  const { requests } = await at.agent.op('network', {});
  assert.ok(requests.some(({ url }) => url.endsWith('/late')));
});

test('the history outlives Firefox and the hub', { ...hubOnly, timeout: 90_000 }, () => withHome(async (home) => {
  const hub = await home.serve();
  await endpointOf(home, 'firefox');
  const bidi = await Bidi.session(session(hub));
  const tab = await bidi.tab(at.site.url('/two'));
  const rest = await Rest.of(hub);
  rest.browser = 'firefox';
  await bidi.evaluate('console.log("before the crash")', tab);
  const line = await rest.line(tab, 'before the crash');
  signal(home.browsers()[0].pid, 'SIGKILL');
  await bidi.closed;
  await until('the tab has closed', async () => (await rest.tabs({ closed: 1 })).find(({ id, open }) => id === tab && !open));
  const again = await Bidi.session(session(hub));
  const other = await again.tab(at.site.url('/three'));
  await again.evaluate('console.log("after the crash")', other);
  assert.ok((await rest.line(other, 'after the crash')).seq > line.seq);
  // What is older than a moment is on disk.
  await until('it is written', async () => (await readFile(join(home.data, 'bowline', 'history.db-wal')).catch(() => readFile(join(home.data, 'bowline', 'history.db')))).includes('after the crash'));
  signal(hub.pid, 'SIGKILL');
  await again.closed;
  const next = await home.serve();
  const later = await Rest.of(next);
  later.browser = 'firefox';
  const texts = (await later.console(undefined)).map(({ text }) => text);
  assert.deepEqual(texts.filter((text) => text.includes('the crash')), ['before the crash', 'after the crash']);
}, { BOWLINE_ARGS: '' }));

test('lists of sites hold in a Firefox, beside a client that holds requests itself', { ...hubOnly, timeout: 60_000 }, () => withHome(async (home) => {
  const site = await Site.start({
    '/away': (url) => ({ status: 302, headers: { location: `http://localhost:${url.port}/two` }, body: '' }),
    '/framed': (url) => html('framed', `<iframe src="http://localhost:${url.port}/frame"></iframe><img src="http://localhost:${url.port}/pixel">`),
  });
  try {
    const hub = await home.serve();
    await endpointOf(home, 'firefox');
    const bidi = await Bidi.session(session(hub));
    const rest = await Rest.of(hub);
    rest.browser = 'firefox';
    const tab = await bidi.tab(site.url('/two'));
    await bidi.send('session.subscribe', { events: ['network.beforeRequestSent'] });
    await bidi.send('network.addIntercept', { phases: ['beforeRequestSent'], urlPatterns: [{ type: 'pattern', pathname: '/api' }] });
    const fetched = (url) => bidi.evaluate(`fetch('${url}', { mode: 'no-cors' }).then(() => 'came', () => 'refused')`, tab);
    assert.equal(await fetched(`${site.other}/echo`), 'refused');
    const held = fetched(site.url('/api'));
    const { params } = await bidi.event('network.beforeRequestSent', ({ request, isBlocked }) => isBlocked && request.url.endsWith('/api'));
    await bidi.send('network.provideResponse', { request: params.request.request, statusCode: 200, body: { type: 'string', value: 'x' } });
    assert.equal(await held, 'came');
    assert.equal(await fetched('/away'), 'refused', 'also by a redirect');
    await assert.rejects(bidi.send('browsingContext.navigate', { context: tab, url: `${site.other}/two`, wait: 'complete' }));
    await bidi.send('browsingContext.navigate', { context: tab, url: site.url('/framed'), wait: 'complete' });
    await rest.line(tab, /Refused by policy: .*localhost/);
    // Of what these ask for nobody is told.
    assert.equal(await bidi.evaluate('typeof SharedWorker + typeof navigator.serviceWorker', tab), 'undefinedundefined');
    const reached = site.requests.filter((request) => /\/(echo|frame|two)$/.test(request));
    assert.deepEqual(reached, ['GET /two'], 'nothing but the first page has reached the site');
    assert.ok(site.requests.includes('GET /pixel'), "a page's pictures may come from anywhere");
    assert.ok(!site.requests.includes('GET /api'), 'the client has answered itself');
    await bidi.close();
  } finally {
    await site.stop();
  }
}, { BOWLINE_ARGS: '', BOWLINE_SITES_ALLOW: '127.0.0.1' }));
