// The history's routes: what each gives, what may be asked of it, and how it refuses.
import assert from 'node:assert/strict';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { http } from './lib/http.mjs';
import { withHub } from './lib/life.mjs';
import { Rest } from './lib/rest.mjs';
import { html } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { pooled, timed, until } from './lib/until.mjs';

const at = fixture({
  pages: {
    '/known': html('A known page', '', `console.log('first words'); console.info('second'); console.warn('third'); console.error('fourth'); console.debug('fifth');
      setTimeout(() => { throw new Error('thrown'); });
      (async () => { for (const [url, method] of [['/api?a', 'GET'], ['/api?b', 'POST'], ['/echo', 'PUT'], ['/nowhere', 'GET']]) await fetch(url, { method }).then((r) => r.text());
        document.title += ', done'; })();`),
    '/twin': html('twin', ''),
  },
  async open(own) {
    if (own.target.direct) return;
    own.rest = await Rest.of(own.target);
    own.cdp = await Cdp.connect(own.target.ws);
    own.known = await own.cdp.page(own.site.url('/known'));
    own.id = own.known.targetId;
    own.path = own.rest.scope(own.id);
    await until('it is done', () => own.cdp.evaluate('document.title.endsWith("done")', own.known.sessionId));
    await own.rest.finished(own.id, '/nowhere');
    await own.rest.line(own.id, 'thrown');
  },
  close: (own) => own.cdp?.close(),
});

const texts = async (query) => (await at.rest.console(at.id, query)).map(({ text }) => text);
const asked = async (query) => (await at.rest.network(at.id, query)).map(({ url }) => new URL(url).pathname + new URL(url).search);

test('an answer has data and a time, an error has code, message and hint', hubOnly, async () => {
  const good = await at.rest.ask('GET', `${at.path}/console`);
  assert.deepEqual([good.status, good.success], [200, true]);
  assert.match(good.headers['content-type'], /^application\/json/);
  assert.ok(Math.abs(good.timestamp - Date.now()) < 60_000);
  const bad = await at.rest.ask('GET', '/browsers/nobody/console');
  assert.deepEqual([bad.status, bad.success, Object.keys(bad.error).sort()], [404, false, ['code', 'hint', 'message']]);
  assert.ok(Math.abs(bad.timestamp - Date.now()) < 60_000);
});

test('tabs are listed in the order in which they were opened, with what is remembered of each', hubOnly, async () => {
  const { running, recorded, tabs } = await at.rest.get('/browsers/default/tabs');
  assert.deepEqual([running, recorded], [true, true]);
  assert.deepEqual(tabs.map(({ index }) => index), tabs.map((_, i) => i + 1));
  const tab = tabs.find(({ id }) => id === at.id);
  assert.deepEqual([tab.title, tab.url, tab.type, tab.open, tab.browser], ['A known page, done', at.site.url('/known'), 'page', true, 'default']);
  assert.ok(tab.console.count >= 6 && tab.network.count >= 5 && tab.navigations === 1, JSON.stringify(tab));
});

test('a tab is named by index, `current`, the beginning of its id, or a part of address or title', hubOnly, async () => {
  const { index } = (await at.rest.tabs()).find(({ id }) => id === at.id);
  const opened = await at.cdp.page('about:blank');
  const of = async (word) => (await at.rest.post(`${at.rest.scope(word)}/evaluate`, { expression: '1' })).tab;
  for (const word of [String(index), at.id, at.id.slice(0, 20), at.id.toLowerCase(), '/known', 'KNOWN PAGE, done']) assert.equal(await of(word), at.id, word);
  assert.equal(await of('current'), opened.targetId);
  await at.cdp.evaluate('document.title = "renamed by itself"', at.known.sessionId);
  assert.equal(await of('renamed by itself'), at.id, 'as it is called now');
  await at.cdp.evaluate('document.title = "A known page, done"', at.known.sessionId);
  await at.cdp.send('Target.closeTarget', { targetId: opened.targetId });
});

test('types choose by level', hubOnly, async () => {
  assert.deepEqual(await texts({ types: 'warn' }), ['third']);
  assert.deepEqual((await texts({ types: 'log,info, DEBUG' })).toSorted(), ['fifth', 'first words', 'second']);
  assert.ok((await texts({ types: 'error' })).includes('fourth'));
});

test('textPattern is a regular expression', hubOnly, async () => {
  assert.deepEqual(await texts({ textPattern: '^(first|second)' }), ['first words', 'second']);
  assert.deepEqual(await texts({ textPattern: '(?i)FIFTH' }), ['fifth']);
  assert.deepEqual(await texts({ textPattern: 'nothing like it' }), []);
});

test('source chooses the event', hubOnly, async () => {
  assert.match((await texts({ source: 'Runtime.exceptionThrown' })).join(), /^Uncaught Error: thrown/);
  assert.equal((await texts({ source: 'Runtime.consoleAPICalled' })).length, 5);
  assert.match((await texts({ source: 'Log.entryAdded' })).join(), /404/);
});

test('startTime and endTime choose by time, max the latest, since what came after a number', hubOnly, async () => {
  const all = await at.rest.console(at.id);
  const [first, second, third] = all;
  const between = await at.rest.console(at.id, { startTime: second.timestamp, endTime: third.timestamp });
  assert.deepEqual(between, all.filter(({ timestamp }) => timestamp >= second.timestamp && timestamp <= third.timestamp));
  assert.ok(!between.some(({ seq }) => seq === first.seq) || first.timestamp === second.timestamp);
  for (const name of ['max', 'maxMessages']) {
    assert.deepEqual((await at.rest.console(at.id, { [name]: 2 })).map(({ seq }) => seq), all.slice(-2).map(({ seq }) => seq));
  }
  assert.deepEqual(await at.rest.console(at.id, { max: 0 }), []);
  assert.deepEqual((await at.rest.console(at.id, { since: second.seq })).map(({ seq }) => seq), all.slice(2).map(({ seq }) => seq));
  const { latest } = await at.rest.get(`${at.path}/console`);
  assert.deepEqual(await at.rest.console(at.id, { since: latest }), []);
});

test('filters narrow each other', hubOnly, async () => {
  assert.deepEqual(await texts({ types: 'log,warn,error', textPattern: 'th?ir|words', source: 'Runtime.consoleAPICalled', max: 1 }), ['third']);
});

test('requests are chosen by method, status, address, type and outcome', hubOnly, async () => {
  assert.deepEqual(await asked({ methods: 'POST,put' }), ['/api?b', '/echo']);
  assert.deepEqual((await asked({ statusCodes: '404' })).filter((url) => url !== '/favicon.ico'), ['/nowhere']);
  assert.deepEqual((await asked({ statusCodes: '4xx' })).filter((url) => url !== '/favicon.ico'), ['/nowhere']);
  assert.deepEqual((await asked({ statusCodes: '400-499' })).filter((url) => url !== '/favicon.ico'), ['/nowhere']);
  assert.ok((await asked({ statusCodes: '200,4xx' })).includes('/api?a'));
  assert.deepEqual(await asked({ urlPattern: '/api\\?[ab]$' }), ['/api?a', '/api?b']);
  assert.deepEqual(await asked({ resourceTypes: 'Document' }), ['/known']);
  assert.deepEqual(await asked({ resourceTypes: 'document,FETCH', urlPattern: 'api|known' }), ['/known', '/api?a', '/api?b']);
  assert.deepEqual(await asked({ failed: 1 }), [], 'a status is no failure');
  const all = await at.rest.network(at.id);
  for (const name of ['max', 'maxRequests']) assert.deepEqual((await at.rest.network(at.id, { [name]: 1 })).map(({ seq }) => seq), [all.at(-1).seq]);
  const document = all.find(({ type }) => type === 'Document');
  assert.deepEqual(await asked({ endTime: document.timestamp }), ['/known']);
  assert.ok(!(await asked({ startTime: document.timestamp + 0.001 })).includes('/known'));
  assert.ok(!(await asked({ since: document.changed })).includes('/known'), 'since goes by the last change');
  assert.ok((await asked({ since: document.changed - 1 })).includes('/known'));
});

test('bodies come along where they are asked for', hubOnly, async () => {
  const found = await at.rest.network(at.id, { includeResponseBody: 1, urlPattern: '/api' });
  assert.deepEqual(found.map(({ responseBody }) => responseBody), [1, 2].map(() => ({ body: '{"from":"server"}', base64Encoded: false, size: 17 })));
  assert.equal((await at.rest.network(at.id, { urlPattern: '/api' }))[0].responseBody, undefined);
});

test('what a client has not seen before its first look is historical, the rest is not', hubOnly, async () => {
  const look = async (client) => {
    const { messages, historical } = await at.rest.get(`${at.path}/console`, { client });
    assert.equal(messages.filter((record) => record.historical).length, historical);
    return [historical, messages.length];
  };
  const [historical, total] = await look('one');
  assert.equal(historical, total);
  await at.cdp.evaluate('console.log("after the first look")', at.known.sessionId);
  await at.rest.line(at.id, 'after the first look');
  assert.deepEqual(await look('one'), [total, total + 1]);
  assert.deepEqual(await look('two'), [total + 1, total + 1], 'another client looks for the first time');
  assert.deepEqual(await look(undefined), [total + 1, total + 1], 'who does not say who he is has seen nothing');
  const { requests } = await at.rest.get(`${at.path}/network`, { client: 'one' });
  assert.ok(requests.every((record) => record.historical));
});

test('what is wrong with a question is said by the name of the field', hubOnly, async () => {
  const wrong = [
    ['console', { types: 'loud' }, 'types'], ['console', { textPattern: '(' }, 'textPattern'],
    ['console', { source: 'nowhere' }, 'source'], ['console', { startTime: 'noon' }, 'startTime'],
    ['console', { endTime: 'NaN' }, 'endTime'], ['console', { max: '-1' }, 'max'], ['console', { max: 'many' }, 'max'],
    ['console', { since: 'x' }, 'since'], ['console', { follow: '2' }, 'follow'], ['console', { unknown: '1' }, 'unknown'],
    ['network', { statusCodes: 'fine' }, 'statusCodes'], ['network', { statusCodes: '200,20' }, 'statusCodes'],
    ['network', { urlPattern: '[' }, 'urlPattern'], ['network', { includeResponseBody: 'yes' }, 'includeResponseBody'],
    ['network', { reveal: 'please' }, 'reveal'], ['network', { failed: '' }, 'failed'], ['network', { startTime: 'inf' }, 'startTime'],
    ['har', { bodies: 'no' }, 'bodies'], ['har', { reveal: '2' }, 'reveal'], ['har', { raw: '2' }, 'raw'],
  ];
  for (const [kind, query, field] of wrong) {
    for (const path of [at.path, at.rest.scope()]) {
      const { status, code, message } = await at.rest.refused('GET', `${path}/${kind}`, { query });
      assert.deepEqual([status, code], [400, 'bad_request'], JSON.stringify(query));
      assert.ok(message.includes(field), `${JSON.stringify(query)}: ${message}`);
    }
  }
  const { status, message } = await at.rest.refused('GET', '/browsers/default/tabs', { query: { closed: 'x' } });
  assert.equal(status, 400);
  assert.ok(message.includes('closed'), message);
});

test('what is wrong with a body is said by the name of the field', hubOnly, async () => {
  const wrong = [
    [`${at.path}/execute`, {}, 'method'], [`${at.path}/execute`, { method: '' }, 'method'], [`${at.path}/execute`, { method: 7 }, 'method'],
    [`${at.path}/execute`, { method: 'Page.enable', params: [] }, 'params'], [`${at.path}/execute`, { method: 'Page.enable', params: 'x' }, 'params'],
    [`${at.path}/execute`, { method: 'Page.enable', timeout: 0 }, 'timeout'], [`${at.path}/execute`, { method: 'Page.enable', timeout: 600_001 }, 'timeout'],
    [`${at.path}/execute`, { method: 'Page.enable', timeout: 'long' }, 'timeout'], [`${at.path}/execute`, { method: 'Page.enable', more: 1 }, 'more'],
    [`${at.path}/evaluate`, {}, 'expression'], [`${at.path}/evaluate`, { expression: null }, 'expression'], [`${at.path}/evaluate`, { expression: '1', timeout: -1 }, 'timeout'],
    ['/connect', {}, 'port'], ['/connect', { port: 0 }, 'port'], ['/connect', { port: 70_000 }, 'port'],
    ['/connect', { port: 9222, host: 'example.com' }, 'host'], ['/connect', { port: 9222, host: '10.0.0.1' }, 'host'], ['/connect', { port: 9222, other: 1 }, 'other'],
  ];
  for (const [path, body, field] of wrong) {
    const { status, code, message } = await at.rest.refused('POST', path, { body });
    assert.deepEqual([status, code], [400, 'bad_request'], `${path} ${JSON.stringify(body)}`);
    assert.ok(message.includes(field), `${JSON.stringify(body)}: ${message}`);
  }
  for (const body of ['', '{', '[]', 'null', '{"method":}']) {
    assert.equal((await at.rest.refused('POST', `${at.path}/execute`, { body })).status, 400, body);
  }
});

test('what is not there is said by its name', hubOnly, async () => {
  const missing = [
    ['GET', '/browsers/nobody/tabs', 'no_such_browser', 'nobody'], ['GET', '/browsers/nobody/console', 'no_such_browser', 'nobody'],
    ['POST', '/browsers/nobody/execute', 'no_such_browser', 'nobody'],
    ['GET', '/browsers/default/tabs/999999/console', 'no_such_tab', '999999'], ['GET', '/browsers/default/tabs/no%20tab/network', 'no_such_tab', 'no tab'],
    ['DELETE', '/browsers/default/tabs/none/console', 'no_such_tab', 'none'], ['POST', '/browsers/default/tabs/none/execute', 'no_such_tab', 'none'],
    ['POST', '/browsers/default/tabs/none/evaluate', 'no_such_tab', 'none'],
    ['GET', `${at.path}/network/999999999/body`, 'no_such_request', '999999999'], ['GET', '/browsers/default/network/no.such/body', 'no_such_request', 'no.such'],
    ['GET', '/console/conn_none', 'no_such_connection', 'conn_none'], ['GET', '/network/conn_none', 'no_such_connection', 'conn_none'],
    ['GET', '/network/conn_none/har', 'no_such_connection', 'conn_none'], ['GET', '/network/conn_none/1/body', 'no_such_connection', 'conn_none'],
    ['GET', '/health/conn_none', 'no_such_connection', 'conn_none'], ['POST', '/execute/conn_none', 'no_such_connection', 'conn_none'],
    ['DELETE', '/connection/conn_none', 'no_such_connection', 'conn_none'],
    ['GET', '/no/such/path', 'not_found', ''],
  ];
  for (const [method, path, code, name] of missing) {
    const body = method !== 'POST' ? undefined : path.endsWith('evaluate') ? { expression: '1' } : { method: 'Page.enable' };
    const refused = await at.rest.refused(method, path, { body });
    assert.deepEqual([refused.status, refused.code], [404, code], path);
    assert.ok(refused.message.includes(name), `${path}: ${refused.message}`);
    assert.ok(refused.hint, path);
  }
  const { candidates } = await at.rest.refused('GET', '/browsers/default/tabs/none/console');
  assert.ok(candidates.some(({ id }) => id === at.id), 'the open ones are offered');
  assert.equal((await at.rest.refused('PATCH', `${at.path}/console`)).status, 405);
});

test('a word that may mean several tabs is answered with all of them', hubOnly, async () => {
  const twins = [await at.cdp.page(at.site.url('/twin?1')), await at.cdp.page(at.site.url('/twin?2'))];
  await until('both are there', async () => (await at.rest.tabs()).filter(({ url, title }) => url.includes('/twin') && title === 'twin').length === 2);
  const { status, code, message, candidates } = await at.rest.refused('GET', '/browsers/default/tabs/twin/console');
  assert.deepEqual([status, code], [409, 'ambiguous_tab']);
  assert.ok(message.includes('twin'), message);
  assert.deepEqual(candidates.map(({ id, url }) => [id, url]), twins.map(({ targetId }, i) => [targetId, at.site.url(`/twin?${i + 1}`)]));
  assert.ok(candidates.every(({ index, title }) => Number.isInteger(index) && title === 'twin'), JSON.stringify(candidates));
  assert.equal((await at.rest.refused('POST', '/browsers/default/tabs/twin/evaluate', { body: { expression: '1' } })).status, 409);
  assert.deepEqual(await at.rest.console('/twin?1'), []);
  for (const { targetId } of twins) await at.cdp.send('Target.closeTarget', { targetId });
});

test('a command is executed on a tab or on the browser, and its answer is the browser\'s own', hubOnly, async () => {
  const { result, executionTime } = await at.rest.post(`${at.path}/execute`, { method: 'Runtime.evaluate', params: { expression: '6 * 7' } });
  assert.deepEqual(result.result, { type: 'number', value: 42, description: '42' });
  assert.ok(executionTime >= 0 && executionTime < 10_000);
  assert.match((await at.rest.post('/browsers/default/execute', { method: 'Browser.getVersion' })).result.product, /Chrome/);
  const refused = await at.rest.refused('POST', `${at.path}/execute`, { body: { method: 'Page.nothing' } });
  assert.deepEqual([refused.status, refused.code, refused.cdp.code], [422, 'cdp_error', -32601]);
  assert.match(refused.cdp.message, /Page\.nothing/);
  const text = (await at.rest.ask('POST', `${at.path}/execute`, { body: { method: 'Runtime.evaluate', params: { expression: '({b: 1, a: 0.1, c: 1e21})', returnByValue: true } } })).text;
  assert.ok(text.includes('"value":{"b":1,"a":0.1,"c":1e+21}'), `numbers and order as they came: ${text}`);
});

test('an expression is evaluated; what it throws is an error with its stack', hubOnly, async () => {
  const value = (expression) => at.rest.post(`${at.path}/evaluate`, { expression });
  const { type, value: number, tab } = await value('await Promise.resolve(40) + 2');
  assert.deepEqual([type, number, tab], ['number', 42, at.id]);
  const threw = await at.rest.refused('POST', `${at.path}/evaluate`, { body: { expression: '(function knot() { throw new RangeError("no"); })()' } });
  assert.deepEqual([threw.status, threw.code], [422, 'page_threw']);
  assert.match(threw.message, /^RangeError: no\n\s+at knot/);
});

test('what takes longer than it may is a timeout, and the tab goes on', hubOnly, async () => {
  for (const [path, body] of [
    ['execute', { method: 'Runtime.evaluate', params: { expression: 'new Promise(() => {})', awaitPromise: true }, timeout: 200 }],
    ['evaluate', { expression: 'new Promise(() => {})', timeout: 200 }],
    ['evaluate', { expression: 'for (;;);', timeout: 200 }],
  ]) {
    const { value, ms } = await timed(() => at.rest.refused('POST', `${at.path}/${path}`, { body }));
    assert.deepEqual([value.status, value.code], [408, 'timeout'], JSON.stringify(body));
    assert.match(value.message, /200 ms/);
    assert.ok(ms >= 190 && ms < 5_000, `${ms}`);
  }
  assert.equal((await at.rest.post(`${at.path}/evaluate`, { expression: '1 + 1' })).value, 2);
});

test('what is not JSON, too large, or too much is refused as such', hubOnly, async () => {
  const plain = await at.rest.refused('POST', `${at.path}/execute`, { body: '{"method":"Page.enable"}', headers: { 'content-type': 'text/plain' } });
  assert.equal(plain.status, 415);
  const large = await at.rest.refused('POST', `${at.path}/evaluate`, { body: { expression: `'${'x'.repeat(70 * 1024 * 1024)}'` } });
  assert.deepEqual([large.status, large.code], [413, 'too_large']);
  const page = await at.cdp.page(at.site.url('/'));
  await until('loaded', () => at.cdp.evaluate('document.title === "home"', page.sessionId));
  await at.cdp.evaluate('(async () => { for (let i = 0; i < 101; i++) await fetch("/api?many" + i).then((r) => r.text()); })()', page.sessionId);
  await at.rest.finished(page.targetId, 'many100');
  const many = await at.rest.refused('GET', `${at.rest.scope(page.targetId)}/network`, { query: { includeResponseBody: 1 } });
  assert.deepEqual([many.status, many.code], [413, 'too_large']);
  assert.equal((await at.rest.network(page.targetId, { includeResponseBody: 1, max: 100 })).length, 100);
  await at.cdp.send('Target.closeTarget', { targetId: page.targetId });
});

test('without the token nothing is told and nothing is done', hubOnly, async () => {
  const { paths } = await http(at.rest.base, '/api/openapi.json', { headers: at.rest.headers() }).then((answer) => answer.json());
  const operations = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => [method.toUpperCase(), path]));
  assert.ok(operations.length > 20, `${operations.length}`);
  const answers = await pooled([...operations, ['GET', '/api/openapi.json']], 4, async ([method, path]) => {
    const filled = path.replace('{name}', 'default').replace('{tab}', at.id).replace(/\{\w+\}/g, '1');
    const bare = await http(at.rest.base, filled, { method, headers: { 'content-type': 'application/json' }, body: method === 'POST' ? '{}' : undefined });
    const wrong = await http(at.rest.base, filled, { method, headers: { authorization: 'Bearer wrong', 'content-type': 'application/json' }, body: method === 'POST' ? '{}' : undefined });
    return [`${method} ${path}`, bare.status, wrong.status, bare.json().error.code];
  });
  for (const [what, bare, wrong, code] of answers) assert.deepEqual([bare, wrong, code], [401, 401, 'unauthorized'], what);
  assert.equal((await http(at.rest.base, `/api${at.path}/console?token=${at.rest.token}`)).status, 200, 'where no header can be sent');
});

test('every route that is described has answered', hubOnly, async () => {
  const { rest, id, path } = at;
  const [{ seq }] = await rest.network(id, { urlPattern: '/api' });
  assert.match((await rest.get(`/browsers/default/network/${seq}/body`)).body, /server/);
  assert.match((await rest.get(`${path}/network/${seq}/body`)).body, /server/);
  assert.equal((await rest.get('/browsers/default/har')).log.version, '1.2');
  const { log } = await rest.get(`${path}/har`);
  assert.ok(log.entries.some(({ request }) => request.url.endsWith('/known')));
  const raw = await http(rest.base, `/api${path}/har?raw=1`, { headers: rest.headers() });
  assert.deepEqual(Object.keys(raw.json()), ['log'], 'raw: without the envelope');
  const { connectionId, isNewConnection, targetInfo, browser } = await rest.post('/connect', { port: at.target.port, targetId: id });
  assert.deepEqual([isNewConnection, targetInfo.id, targetInfo.url, targetInfo.type, browser], [true, id, at.site.url('/known'), 'page', 'default']);
  assert.equal((await rest.get(`/network/${connectionId}/har`)).log.entries.length, log.entries.length);
  assert.match((await rest.get(`/network/${connectionId}/${seq}/body`)).body, /server/);
  assert.deepEqual((await rest.get(`/console/${connectionId}`)).messages.map((record) => record.seq), (await rest.console(id)).map((record) => record.seq));
  assert.ok((await rest.get(`/network/${connectionId}`)).requests.length >= 5);
  assert.equal((await rest.post(`/execute/${connectionId}`, { method: 'Runtime.evaluate', params: { expression: '2' } })).result.result.value, 2);
  assert.equal((await rest.get(`/health/${connectionId}`)).isHealthy, true);
  assert.ok((await rest.get('/connections')).some((connection) => connection.id === connectionId));
  assert.ok((await rest.get('/status')).recorder);
  assert.ok((await rest.tabs()).find((tab) => tab.id === id).connectionId === connectionId);

  assert.ok((await rest.delete(`/console/${connectionId}`)).console > 0);
  assert.deepEqual(await rest.console(id), []);
  assert.ok((await rest.delete(`/network/${connectionId}`)).network > 0);
  assert.deepEqual(await rest.network(id), []);
  assert.deepEqual(await rest.delete(`${path}/console`), { console: 0, network: 0 });
  assert.deepEqual(await rest.delete(`${path}/network`), { console: 0, network: 0 });
  await rest.delete('/browsers/default/console');
  await rest.delete('/browsers/default/network');
  assert.deepEqual([await rest.console(), await rest.network()], [[], []]);
  await rest.delete(`/connection/${connectionId}`);

  const { paths } = await http(rest.base, '/api/openapi.json', { headers: rest.headers() }).then((answer) => answer.json());
  // Ops have tests of their own.
  const described = Object.entries(paths).filter(([template]) => !/\/ops(\/|$)/.test(template));
  const operations = described.flatMap(([template, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${template}`));
  const missed = operations.filter((operation) => {
    const shape = new RegExp(`^${operation.replace(/\{\w+\}/g, '[^/]+')}$`);
    return ![...rest.asked].some((one) => shape.test(one));
  });
  assert.deepEqual(missed, [], 'described, but never seen to succeed here');
});

test('a client that asks too often is told when to come back; others are not kept waiting', hubOnly, () => withHub(async ({ hub }) => {
  const rest = await Rest.of(hub);
  const burst = (headers) => Promise.all(Array.from({ length: 20 }, () => rest.ask('GET', '/status', { headers })));
  const answers = await burst();
  const refused = answers.filter(({ status }) => status === 429);
  assert.ok(answers.some(({ status }) => status === 200) && refused.length >= 10, `${refused.length} of 20`);
  for (const { headers, error } of refused) {
    assert.equal(error.code, 'rate_limited');
    assert.match(headers['retry-after'], /^[1-9]\d*$/);
  }
  assert.equal((await rest.ask('GET', '/status', { headers: { 'x-bowline-client': 'another' } })).status, 200);
  assert.equal((await rest.ask('GET', '/connections', { query: { client: 'a-third' } })).status, 200);
  assert.equal((await http(rest.base, '/api/status')).status, 401, 'who has no token is not even counted');
  assert.equal((await http(hub.endpoint, '/json/version')).status, 200, 'CDP is not limited');
  await until('the first one may again', async () => (await rest.ask('GET', '/status')).status === 200, 5_000, 100);
}, { BOWLINE_API_RATE_LIMIT: '5' }));
