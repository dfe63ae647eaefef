// What a console record says: the line as DevTools would show it, with level, place and stack; whatever
// a page can log.
import assert from 'node:assert/strict';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { Rest } from './lib/rest.mjs';
import { html } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { until } from './lib/until.mjs';

const CAP = 64 * 1024;

const pages = {
  '/logs': html('logs', '<p id=p class=knot>hi</p>',
    'function inner() {\n  console.error("from inner", new Error("made there"));\n  console.trace("traced");\n}\nfunction outer() { inner(); }'),
  '/throws': html('throws', '', `setTimeout(() => { throw new RangeError('later'); });
    setTimeout(() => { throw { code: 7 }; }); setTimeout(() => { throw 'a text'; });
    Promise.reject(new TypeError('refused'));`),
  '/syntax': html('syntax', '<script>\n\nthis is no script</script>'),
  '/troubles': {
    headers: { 'content-security-policy': 'img-src http://127.0.0.1:*' },
    body: html('troubles', '<img src=/missing.png><img src="http://localhost:1/blocked.png">'),
  },
  '/inside': html('inside', '<iframe src="/frame-logs"></iframe>'),
  '/frame-logs': html('frame', '', 'console.log("from the frame");'),
};

const at = fixture({
  pages,
  async open(own) {
    if (own.target.direct) return;
    own.rest = await Rest.of(own.target);
    own.cdp = await Cdp.connect(own.target.ws);
  },
  close: (own) => own.cdp?.close(),
});

/** A page at this path. */
async function open(path) {
  const page = await at.cdp.page(at.site.url(path));
  await until(`${path} loaded`, () => at.cdp.evaluate('document.readyState === "complete" && location.href !== "about:blank"', page.sessionId));
  return { ...page, id: page.targetId, run: (code) => at.cdp.evaluate(`{ ${code} }; void 0`, page.sessionId) };
}

/** What a page has logged after running some code; the last line marks the end. */
async function logged(code) {
  const page = await open('/logs');
  await page.run(`${code}; console.log('the end')`);
  await at.rest.line(page.id, 'the end');
  const records = await at.rest.console(page.id);
  await at.cdp.send('Target.closeTarget', { targetId: page.id });
  return records.filter(({ text, source }) => text !== 'the end' && source !== 'Log.entryAdded');
}

const texts = async (code) => (await logged(code)).map(({ text }) => text);

test('each method has its level, and says that it came from the console', hubOnly, async () => {
  const records = await logged(`for (const how of ['log', 'info', 'warn', 'error', 'debug']) console[how](how + ' it')`);
  assert.deepEqual(records.map(({ type, text }) => [type, text]),
    ['log', 'info', 'warn', 'error', 'debug'].map((how) => [how, `${how} it`]));
  for (const record of records) {
    assert.equal(record.source, 'Runtime.consoleAPICalled');
    assert.equal(record.api, undefined);
    assert.ok(Math.abs(record.timestamp - Date.now()) < 60_000, `${record.timestamp}`);
  }
  const numbers = records.map(({ seq }) => seq);
  assert.deepEqual(numbers, numbers.toSorted((a, b) => a - b), 'in their order');
});

test('formats are filled in, and what is left over follows', hubOnly, async () => {
  assert.deepEqual(await texts(`
    console.log('%s is %d, %i, %f', 'Ann', 42.5, 42.7, 1.5);
    console.log('%cred%c, 100%% %o', 'color: red', '', { a: 1 }, 'rest', 7);
    console.log('no format', '%s', 'x'); console.log('%s only'); console.log('%d', 'no number');`), [
    'Ann is 42, 42, 1.5', 'red, 100% {a: 1} rest 7', 'no format %s x', '%s only', 'NaN',
  ]);
});

test('values are shown as a console shows them, objects two levels deep', hubOnly, async () => {
  const shown = () => texts(`
    console.log({ a: { b: { c: 1 } }, list: [1, [2, 3]], n: null, u: undefined });
    console.log([1, 'two', { x: 1 }], new Set([1]), new Map([['k', 1]]));
    console.log(null, undefined, true, NaN, -0, Symbol('s'), 10n, /re/g);
    console.log(document.querySelector('#p'));
    console.log({ long: 'y'.repeat(1000) });`);
  // The second level is asked for when the line is there already.
  const lines = await until('the second level', async () => {
    const found = await shown();
    return found[0].includes('{b:') && found;
  });
  assert.deepEqual(lines.slice(0, 4), [
    '{a: {b: {…}}, list: (2) [1, Array(2)], n: null, u: undefined}',
    '(3) [1, \'two\', {x: 1}] Set(1) {1} Map(1) {\'k\' => 1}',
    'null undefined true NaN -0 Symbol(s) 10n /re/g',
    'p#p.knot',
  ]);
  assert.match(lines[4], /^\{long: 'y+…y+'\}$/);
});

test('arguments come with their type, and with the value where JSON has one', hubOnly, async () => {
  const [record] = await logged(`console.log('a', 1, true, null, undefined, [1], -0)`);
  assert.deepEqual(record.args.map(({ type, subtype, value }) => [type, subtype, value]), [
    ['string', undefined, 'a'], ['number', undefined, 1], ['boolean', undefined, true], ['object', 'null', null],
    ['undefined', undefined, undefined], ['object', 'array', undefined], ['number', undefined, undefined],
  ]);
});

test('an error is shown with its stack, and the line says where it was logged', hubOnly, async () => {
  const records = await logged('outer()');
  const [error, trace] = records;
  assert.match(error.text, /^from inner Error: made there\n {4}at inner \(http.*\/logs:2:\d+\)\n {4}at outer \(/);
  for (const record of [error, trace]) {
    assert.deepEqual(record.stackTrace.slice(0, 2).map(({ functionName }) => functionName), ['inner', 'outer']);
    assert.deepEqual([record.location.functionName, record.location.url], ['inner', at.site.url('/logs')]);
  }
  assert.equal(error.location.lineNumber, 1, 'counted from zero');
  assert.deepEqual([trace.type, trace.api, trace.text], ['log', 'trace', 'traced']);
});

test('table, assert, group, count, time and dir say which they are', hubOnly, async () => {
  const records = await logged(`console.table([{ a: 1 }]); console.assert(1 === 2, 'sums'); console.assert(true, 'never');
    console.group('outer'); console.log('inside'); console.groupEnd(); console.groupCollapsed('folded'); console.groupEnd();
    console.count('c'); console.time('t'); console.timeEnd('t'); console.dir({ a: 1 })`);
  assert.deepEqual(records.map(({ api, type }) => [api, type]), [
    ['table', 'log'], ['assert', 'error'], ['startGroup', 'log'], [undefined, 'log'], ['endGroup', 'log'],
    ['startGroupCollapsed', 'log'], ['endGroup', 'log'], ['count', 'log'], ['timeEnd', 'log'], ['dir', 'log'],
  ]);
  const text = Object.fromEntries(records.map((record) => [record.api, record.text]));
  assert.equal(text.table, '[{a: 1}]');
  assert.equal(text.assert, 'Assertion failed: sums');
  assert.equal(text.startGroup, 'outer');
  assert.equal(text.count, 'c: 1');
  assert.match(text.timeEnd, /^t: [\d.]+ ms$/);
  assert.equal(text.dir, '{a: 1}');
});

test('exceptions and refused promises that nobody caught are recorded', hubOnly, async () => {
  const page = await open('/throws');
  await until('all four', async () => (await at.rest.console(page.id)).filter(({ source }) => source === 'Runtime.exceptionThrown').length === 4);
  const records = await at.rest.console(page.id, { source: 'Runtime.exceptionThrown' });
  assert.ok(records.every(({ type }) => type === 'error'));
  const [range, object, text, promise] = ['RangeError', 'code', 'a text', 'promise'].map((part) => records.find((record) => record.text.includes(part)));
  assert.match(range.text, /^Uncaught RangeError: later\n {4}at http.*\/throws:1/);
  assert.equal(range.location.url, at.site.url('/throws'));
  assert.equal(object.text, 'Uncaught {code: 7}');
  assert.equal(text.text, 'Uncaught a text');
  assert.match(promise.text, /^Uncaught \(in promise\) TypeError: refused\n/);
});

test('a script that cannot be parsed is recorded with its place', hubOnly, async () => {
  const page = await open('/syntax');
  const record = await at.rest.line(page.id, 'SyntaxError');
  assert.equal(record.text, 'Uncaught SyntaxError: Unexpected identifier \'is\'');
  assert.deepEqual([record.location.url, record.location.lineNumber], [at.site.url('/syntax'), 2]);
});

test('what the browser itself complains about is recorded as its log', hubOnly, async () => {
  const page = await open('/troubles');
  const missing = await at.rest.line(page.id, (record) => record.location?.url.endsWith('/missing.png'));
  assert.deepEqual([missing.source, missing.type, missing.api], ['Log.entryAdded', 'error', 'network']);
  assert.match(missing.text, /404/);
  const blocked = await at.rest.line(page.id, 'Content Security Policy');
  assert.deepEqual([blocked.source, blocked.type], ['Log.entryAdded', 'error']);
  assert.match(blocked.text, /blocked\.png/);
});

test('half a surrogate pair, control characters and nothing at all are lines too', hubOnly, async () => {
  assert.deepEqual(await texts(`console.log('half \\ud800, other half \\udc00, whole \\ud83d\\ude00');
    console.log({ key: '\\udfff' }); console.log('a\\nb\\tc\\0d\\x1b[31m'); console.log('')`), [
    'half \ufffd, other half \ufffd, whole \u{1f600}', '{key: \'\ufffd\'}', 'a\nb\tc\0d\x1b[31m', '',
  ]);
});

test('a line of a megabyte is cut, says by how much, and stays whole characters', hubOnly, async () => {
  const [ascii, umlauts, args] = await logged(`console.log('x'.repeat(1 << 20)); console.log('a' + '\\u00e4'.repeat(1 << 19));
    console.log('two', 'y'.repeat(1 << 20))`);
  assert.equal(ascii.text, 'x'.repeat(CAP));
  assert.equal(ascii.truncated, (1 << 20) - CAP);
  assert.equal(umlauts.text, `a${'\u00e4'.repeat(CAP / 2 - 1)}`, 'no half character');
  assert.equal(Buffer.byteLength(umlauts.text) + umlauts.truncated, 1 + (1 << 20));
  assert.equal(args.text.length, CAP);
  assert.ok(JSON.stringify(args).length < 3 * CAP, 'nor is it hidden in the arguments');
  const page = await open('/logs');
  await page.run(`setTimeout(() => { throw 'z'.repeat(1 << 20); })`);
  const thrown = await at.rest.line(page.id, 'zzz');
  assert.equal(thrown.text.length, CAP);
  assert.ok(JSON.stringify(thrown).length < 3 * CAP, 'nor is it hidden in the exception');
});

test('a line of a frame says which frame', hubOnly, async () => {
  const page = await open('/inside');
  const record = await at.rest.line(page.id, 'from the frame');
  const { frameTree } = await at.cdp.send('Page.getFrameTree', {}, page.sessionId);
  assert.equal(record.frame, frameTree.childFrames[0].frame.id);
  assert.equal(record.tab, page.id);
  assert.equal(record.origin, undefined, 'it is of the page\'s own process');
});

test('a page that crashes is a record, and the tab goes on when it is loaded again', hubOnly, async () => {
  const page = await open('/logs');
  at.cdp.send('Page.navigate', { url: 'chrome://crash' }, page.sessionId).catch(() => {});
  const crash = await at.rest.line(page.id, 'crashed');
  assert.deepEqual([crash.type, crash.source], ['error', 'Inspector.targetCrashed']);
  await at.cdp.send('Page.navigate', { url: at.site.url('/inside') }, page.sessionId);
  await at.rest.line(page.id, 'from the frame');
});

test('lines after a navigation count to the next one', hubOnly, async () => {
  const page = await open('/logs');
  await page.run('console.log("before")');
  await at.cdp.send('Page.navigate', { url: at.site.url('/inside') }, page.sessionId);
  const after = await at.rest.line(page.id, 'from the frame');
  const before = await at.rest.line(page.id, 'before');
  assert.deepEqual([before.navigation, after.navigation], [1, 2]);
});
