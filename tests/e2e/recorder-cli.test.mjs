// The commands that look into a browser, as a person or a script runs them.
import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { freePort, withHome } from './lib/life.mjs';
import { Rest } from './lib/rest.mjs';
import { html } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { pooled, timed, until } from './lib/until.mjs';

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

const at = fixture({
  pages: {
    '/known': {
      headers: { 'set-cookie': 'sid=c00kie-s3cret' },
      body: html('A known page', '<p id=p>hi <b>there</b></p>', `console.log('first words'); console.info('second'); console.warn('third\\nwith two lines'); console.error('fourth \\x1b[31mred'); console.debug('fifth');
        (async () => { for (const [url, method] of [['/api?a', 'GET'], ['/api?b', 'POST'], ['/nowhere', 'GET'], ['/pixel.png', 'GET']]) await fetch(url, { method }).then((r) => r.text());
          document.title += ', done'; })();`),
    },
    '/twin': html('twin', ''),
    '/pixel.png': { type: 'image/png', body: PNG },
  },
  async open(own) {
    if (own.target.direct) return;
    own.home = own.target.home;
    own.rest = await Rest.of(own.target);
    own.cdp = await Cdp.connect(own.target.ws);
    own.known = await own.cdp.page(own.site.url('/known'));
    own.id = own.known.targetId;
    await until('it is done', () => own.cdp.evaluate('document.title.endsWith("done")', own.known.sessionId));
    await own.cdp.evaluate(`fetch('http://127.0.0.1:${await freePort()}/refused').catch(() => {})`, own.known.sessionId);
    await own.rest.finished(own.id, '/refused');
    await own.rest.finished(own.id, '/pixel.png');
  },
  close: (own) => own.cdp?.close(),
});

/** What a command that must succeed prints. */
async function prints(args, options) {
  const { code, stdout, stderr } = await at.home.run(args, options);
  assert.equal(code, 0, `bowline ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

/** How a command that must fail does it. */
async function fails(exit, args, options) {
  const { code, stdout, stderr } = await at.home.run(args, options);
  assert.equal(code, exit, `bowline ${args.join(' ')}\n${stdout}${stderr}`);
  assert.match(stderr, /^error: \S/m, args.join(' '));
  return stderr;
}

const lines = (text) => text.split('\n').filter(Boolean);
const records = (text) => lines(text).map((line) => JSON.parse(line));
const console_ = async (...args) => records(await prints(['console', ...args, '--ndjson'])).map(({ text }) => text);
const network = async (...args) => records(await prints(['network', ...args, '--ndjson'])).map(({ url }) => new URL(url).pathname);

test('tabs lists index, id, title, address and how much is remembered', hubOnly, async () => {
  const [header, ...rows] = lines(await prints(['tabs']));
  assert.match(header, /^INDEX +ID +TITLE +URL +CONSOLE +REQUESTS$/);
  const row = rows.find((line) => line.includes('/known'));
  assert.match(row, new RegExp(`^\\d+ +${at.id.slice(0, 8)} +A known page, done +${at.site.url('/known')} +\\d+ +\\d+$`));
  const { tabs } = await at.home.json('tabs');
  assert.ok(tabs.some(({ id, index }) => id === at.id && row.startsWith(`${index} `)));
});

test('several commands at once see the same history', hubOnly, async () => {
  const seen = await pooled(Array.from({ length: 8 }, (_, i) => i), 8, () => at.home.json('console', '--browser', 'default'));
  for (const { messages } of seen) assert.deepEqual(messages.map(({ seq }) => seq), seen[0].messages.map(({ seq }) => seq));
  assert.ok(seen[0].messages.length >= 5);
});

test('a tab is named by index, id, address or title', hubOnly, async () => {
  const { index } = (await at.rest.tabs()).find(({ id }) => id === at.id);
  for (const tab of [String(index), at.id, at.id.slice(0, 12), '/known', 'known page']) {
    assert.ok((await console_(tab)).includes('first words'), tab);
    assert.equal(await prints(['eval', tab, 'location.pathname']), '/known\n', tab);
  }
  const latest = await at.cdp.page(at.site.url('/two'));
  for (const args of [['eval', 'current'], ['eval']]) {
    await until('it is the current one', async () => (await prints([...args, 'location.pathname'])) === '/two\n');
  }
  await at.cdp.send('Target.closeTarget', { targetId: latest.targetId });
});

test('a name that fits several tabs, or none, is answered with those there are', hubOnly, async () => {
  const twins = [await at.cdp.page(at.site.url('/twin?1')), await at.cdp.page(at.site.url('/twin?2'))];
  await until('both are there', async () => (await at.rest.tabs()).filter(({ title }) => title === 'twin').length === 2);
  for (const args of [['console', 'twin'], ['network', 'twin'], ['eval', 'twin', '1'], ['cdp', 'Page.enable', '--tab', 'twin'], ['har', 'twin'], ['clear', 'twin']]) {
    const said = await fails(7, args);
    for (const [i, { targetId }] of twins.entries()) {
      assert.match(said, new RegExp(`^ +\\d+ +${targetId.slice(0, 8)} +twin +${at.site.url('/twin')}\\?${i + 1}$`, 'm'), args.join(' '));
    }
    assert.match(said, /hint:/);
  }
  const none = await fails(7, ['console', 'no such tab']);
  assert.match(none, /no such tab/);
  assert.ok(none.includes(at.id.slice(0, 8)), 'the open ones are shown');
  const { code, candidates, exit } = await at.home.failure('console', 'twin');
  assert.deepEqual([exit, code, candidates.length], [7, 'ambiguous_tab', 2]);
  for (const { targetId } of twins) await at.cdp.send('Target.closeTarget', { targetId });
});

test('a line has time, level, text and place; further lines stand below; nothing steers the terminal', hubOnly, async () => {
  const text = await prints(['console', '/known']);
  assert.match(text, new RegExp(`^\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z {2}log {4}first words {3}${at.site.url('/known')}:1$`, 'm'));
  assert.match(text, /Z {2}warn {3}third .*\n {22}with two lines$/m);
  assert.match(text, /fourth \\x1b\[31mred/);
  assert.doesNotMatch(text, /\x1b/);
});

test('levels, patterns, numbers and times choose lines', hubOnly, async () => {
  assert.deepEqual(await console_('/known', '--level', 'warn', '--grep', 'third|fourth|second'), ['third\nwith two lines', 'fourth \x1b[31mred']);
  assert.deepEqual(await console_('/known', '--grep', '^f.*s$'), ['first words']);
  assert.equal((await console_('/known', '-n', '2')).length, 2);
  const all = await at.rest.console(at.id);
  const seqs = async (since) => records(await prints(['console', '/known', '--ndjson', '--since', since])).map(({ seq }) => seq);
  assert.deepEqual(await seqs(`#${all[1].seq}`), all.slice(2).map(({ seq }) => seq));
  assert.deepEqual(await seqs('10m'), all.map(({ seq }) => seq));
  assert.deepEqual(await seqs(new Date(all[0].timestamp - 1_000).toISOString().replace(/\.\d+Z/, 'Z')), all.map(({ seq }) => seq));
  const { code } = await at.home.run(['console', '/known', '--since', '2099-01-01T00:00:00Z']);
  assert.equal(code, 7);
});

test('where nothing matches the exit code says so, where nothing is there it does not', hubOnly, async () => {
  const { code, stdout, stderr } = await at.home.run(['console', '/known', '--grep', 'never said']);
  assert.deepEqual([code, stdout, stderr], [7, '', '(no console records match)\n']);
  assert.equal((await at.home.run(['network', '--status', '599'])).code, 7);
  assert.equal((await at.home.run(['network', '--method', 'PATCH', '--json'])).code, 7);
  const blank = await at.cdp.page('about:blank');
  const quiet = await at.home.run(['console', blank.targetId]);
  assert.deepEqual([quiet.code, quiet.stdout, quiet.stderr], [0, '', '(no console records yet)\n']);
  await at.cdp.send('Target.closeTarget', { targetId: blank.targetId });
});

test('requests are chosen by outcome, method, address and type', hubOnly, async () => {
  const of = (...args) => network('/known', ...args).then((paths) => paths.filter((path) => path !== '/favicon.ico'));
  assert.deepEqual(await of('--status', '404'), ['/nowhere']);
  assert.deepEqual(await of('--status', '4xx,failed'), ['/nowhere', '/refused']);
  assert.deepEqual(await of('--status', 'failed'), ['/refused']);
  assert.deepEqual(await of('--method', 'post'), ['/api']);
  assert.deepEqual(await of('--url', 'api\\?a$'), ['/api']);
  assert.deepEqual(await of('--grep', 'pixel'), ['/pixel.png']);
  assert.deepEqual(await of('--type', 'document'), ['/known']);
  assert.equal((await network('/known', '-n', '1')).length, 1);
});

test('a request is a line with number, method, status, type, sizes and address, and why it failed', hubOnly, async () => {
  const text = await prints(['network', '/known']);
  const [{ seq }] = await at.rest.network(at.id, { urlPattern: 'api\\?b' });
  assert.match(text, new RegExp(`^#${seq} +\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z {2}POST +200 +fetch +[\\d.]+ k?B +\\S+ m?s {2}${at.site.url('/api')}\\?b$`, 'm'));
  assert.match(text, /ERR +fetch .*\/refused {2}net::ERR_CONNECTION_REFUSED$/m);
  assert.doesNotMatch(text, /\x1b/);
});

test('secrets are hidden in every form, unless they are asked for', hubOnly, async () => {
  for (const args of [['-v'], ['--json'], ['--ndjson'], ['-v', '--bodies']]) {
    const text = await prints(['network', '/known', ...args]);
    assert.match(text, /sid=\[redacted\]/i, args.join(' '));
    assert.doesNotMatch(text, /s3cret/, args.join(' '));
    assert.match(await prints(['network', '/known', ...args, '--reveal']), /sid=c00kie-s3cret/, args.join(' '));
  }
  assert.doesNotMatch(await prints(['har', '/known']), /s3cret/);
  assert.match(await prints(['har', '/known', '--reveal']), /c00kie-s3cret/);
});

test('JSON is one document, NDJSON a record on each line, both with nothing else on stdout', hubOnly, async () => {
  const { messages, total, dropped, lost, latest } = await at.home.json('console', '/known');
  assert.ok(messages.length === total && dropped === 0 && lost === 0 && latest >= messages.at(-1).seq);
  const each = records(await prints(['console', '/known', '--ndjson']));
  assert.deepEqual(each.map(({ seq }) => seq), messages.map(({ seq }) => seq));
  const { requests } = await at.home.json('network', '/known', '--bodies', '--url', '/api');
  assert.deepEqual(requests.map(({ responseBody }) => responseBody.body), ['{"from":"server"}', '{"from":"server"}']);
});

test('what this terminal has seen before is told from what is new', hubOnly, async () => {
  const env = { BOWLINE_CLIENT: 'a-terminal' };
  const first = await at.home.run(['console', '/known'], { env });
  assert.doesNotMatch(first.stderr, /new/);
  await at.cdp.evaluate('console.log("said since")', at.known.sessionId);
  await at.rest.line(at.id, 'said since');
  const second = await at.home.run(['console', '/known'], { env });
  assert.equal(second.stderr, '--- new ---\n');
  assert.match(second.stdout, /said since/);
  const other = await at.home.run(['console', '/known'], { env: { BOWLINE_CLIENT: 'another' } });
  assert.doesNotMatch(other.stderr, /new/);
});

test('eval prints strings as they are and other values as a console does', hubOnly, async () => {
  const values = [
    ['6 * 7', '42'], ['"a text"', 'a text'], ['"two\\nlines"', 'two\nlines'], ['true', 'true'], ['null', 'null'], ['undefined', 'undefined'], ['NaN', 'NaN'],
    ['-0', '-0'], ['10n', '10n'], ['Symbol("s")', 'Symbol(s)'], ['[1, "two"]', '[\n  1,\n  "two"\n]'], ['({ a: { b: 1 } })', '{\n  "a": {\n    "b": 1\n  }\n}'],
    ['{ a: 1 }', '{\n  "a": 1\n}'], ['await Promise.resolve(5)', '5'], ['Promise.resolve("later")', 'later'],
    ['await fetch("/api").then((r) => r.json())', '{\n  "from": "server"\n}'], ['document.querySelector("#p")', '<p id="p">hi <b>there</b></p>'],
    ['new Map([["k", 1]])', 'Map(1) {\'k\' => 1}'], ['function f() { return 1; } f()', '1'], ['let once = 1; once + 1', '2'], ['-5', '-5'], ['void 0', 'undefined'],
  ];
  const printed = await pooled(values, 2, ([expression]) => prints(['eval', '/known', expression]));
  printed.forEach((text, i) => assert.equal(text, `${values[i][1]}\n`, values[i][0]));
  assert.equal(await prints(['eval', '/known', 'let once = 2; once']), '2\n', 'again, as in a console');
  assert.equal(await prints(['eval', '/known', '--', '-5 + 3']), '-2\n');
  const { type, value, tab, executionTime } = await at.home.json('eval', '/known', '({ a: [1] })');
  assert.deepEqual([type, value, tab, executionTime >= 0], ['object', { a: [1] }, at.id, true]);
});

test('eval reads its expression from stdin or a file', hubOnly, async () => {
  assert.equal(await prints(['eval', '/known', '-'], { input: 'location\n.pathname' }), '/known\n');
  assert.equal(await prints(['eval', '/known', '--', '-'], { input: '1 + 1' }), '2\n');
  const file = join(at.home.root, 'script.js');
  await writeFile(file, 'const a = 20;\nconst b = 1;\na * 2 + b * 2;\n');
  assert.equal(await prints(['eval', '/known', '--file', file]), '42\n');
  await fails(1, ['eval', '/known', '--file', join(at.home.root, 'no-such.js')]);
  await fails(2, ['eval', '/known', '-'], { input: '  \n' });
  await fails(2, ['eval', '/known', '1', '--file', file]);
});

test('what the page throws is exit 9, with the stack on stderr', hubOnly, async () => {
  const said = await fails(9, ['eval', '/known', '(function knot() { throw new TypeError("no such rope"); })()']);
  assert.match(said, /TypeError: no such rope\n\s+at knot/);
  assert.match(await fails(9, ['eval', '/known', 'await Promise.reject(new Error("refused"))']), /Error: refused/);
  assert.match(await fails(9, ['eval', '/known', 'throw { code: 7 }']), /code: 7/);
  assert.match(await fails(9, ['eval', '/known', 'this is no script']), /SyntaxError/);
  const { code, message, exit } = await at.home.failure('eval', '/known', 'nothing.there');
  assert.deepEqual([exit, code], [9, 'page_threw']);
  assert.match(message, /^ReferenceError: nothing is not defined/);
});

test('what takes too long is exit 8, and the page goes on', hubOnly, async () => {
  for (const expression of ['for (;;);', 'await new Promise(() => {})']) {
    const { value, ms } = await timed(() => fails(8, ['eval', '/known', expression, '--timeout', '300ms']));
    assert.match(value, /300 ms/);
    assert.ok(ms >= 290 && ms < 10_000, `${ms}`);
  }
  await fails(8, ['cdp', 'Runtime.evaluate', '{"expression": "new Promise(() => {})", "awaitPromise": true}', '--tab', '/known', '--timeout', '300ms']);
  assert.equal(await prints(['eval', '/known', '1']), '1\n');
});

test('cdp prints the result, of the browser or of a tab, and the browser\'s own complaint', hubOnly, async () => {
  assert.match(JSON.parse(await prints(['cdp', 'Browser.getVersion'])).product, /Chrome/);
  const params = JSON.stringify({ expression: 'location.pathname' });
  assert.equal(JSON.parse(await prints(['cdp', 'Runtime.evaluate', params, '--tab', '/known'])).result.value, '/known');
  assert.equal(JSON.parse(await prints(['cdp', 'Runtime.evaluate', '-', '--tab', '/known'], { input: params })).result.value, '/known');
  assert.ok(JSON.parse(await prints(['cdp', 'Target.getTargets'])).targetInfos.some(({ targetId }) => targetId === at.id));
  const { targetId } = JSON.parse(await prints(['cdp', 'Target.createTarget', JSON.stringify({ url: at.site.url('/two') })]));
  await at.rest.finished(targetId, '/two');
  assert.equal(JSON.parse(await prints(['cdp', 'Target.closeTarget', JSON.stringify({ targetId })])).success, true);
  assert.match(await fails(1, ['cdp', 'Page.nothing', '--tab', '/known']), /Page\.nothing/);
  const { code, exit, cdp } = await at.home.failure('cdp', 'Page.navigate', '{}', '--tab', '/known');
  assert.deepEqual([exit, code, cdp.code], [1, 'cdp_error', -32602]);
  assert.match(await fails(2, ['cdp', 'Page.navigate', '{url: 1}', '--tab', '/known']), /JSON/);
  await fails(2, ['cdp', 'reload']);
});

test('body prints the bytes, or writes them to a file', hubOnly, async () => {
  const [api] = await at.rest.network(at.id, { urlPattern: 'api\\?a' });
  const [pixel] = await at.rest.network(at.id, { urlPattern: 'pixel' });
  assert.equal(await prints(['body', String(api.seq)]), '{"from":"server"}');
  assert.equal(await prints(['body', `#${api.seq}`]), '{"from":"server"}');
  assert.equal(await prints(['body', api.requestId, '--tab', '/known']), '{"from":"server"}');
  const file = join(at.home.root, 'pixel.png');
  const { code, stdout, stderr } = await at.home.run(['body', String(pixel.seq), '-o', file]);
  assert.deepEqual([code, stdout], [0, '']);
  assert.match(stderr, /written to/);
  assert.ok(PNG.equals(await readFile(file)));
  assert.match(await fails(7, ['body', '999999999']), /999999999/);
  const [refused] = await at.rest.network(at.id, { failed: 1 });
  assert.match(await fails(1, ['body', String(refused.seq)]), /failed/);
  await fails(1, ['body', String(api.seq), '-o', join(at.home.root, 'no', 'such', 'dir')]);
});

test('har is written to a file or printed', hubOnly, async () => {
  const file = join(at.home.root, 'session.har');
  const { stderr } = await at.home.run(['har', '/known', '-o', file, '--bodies']);
  const { log } = JSON.parse(await readFile(file, 'utf8'));
  assert.match(stderr, new RegExp(`^${log.entries.length} entries written to `));
  assert.ok(log.entries.some(({ response }) => response.content.text === '{"from":"server"}'));
  assert.equal((await stat(file)).mode & 0o077 & 0o022, 0, 'nobody else may write it');
  assert.equal(JSON.parse(await prints(['har', '/known'])).log.version, '1.2');
});

test('clear forgets one side, one tab, or all', hubOnly, async () => {
  const page = await at.cdp.page(at.site.url('/console'));
  await at.rest.line(page.targetId, 'broken');
  await at.rest.finished(page.targetId, '/console');
  assert.match(await prints(['clear', page.targetId, '--console']), /^removed [1-9]\d* console records\n$/);
  assert.deepEqual(await at.rest.console(page.targetId), []);
  assert.ok((await at.rest.network(page.targetId)).length > 0);
  assert.match(await prints(['clear', page.targetId]), /^removed 0 console records and [1-9]\d* requests\n$/);
  assert.deepEqual(await at.rest.network(page.targetId), []);
  assert.ok((await at.rest.console(at.id)).length > 0, 'other tabs keep theirs');
  await at.cdp.send('Target.closeTarget', { targetId: page.targetId });
  assert.deepEqual(Object.keys(await at.home.json('clear', '--network')).sort(), ['console', 'network']);
  assert.deepEqual(await at.rest.network(), []);
});

test('a browser that is not known is exit 6, and wrong words are exit 2', hubOnly, async () => {
  for (const args of [['tabs'], ['console'], ['network'], ['har'], ['clear'], ['eval', '1'], ['cdp', 'Browser.getVersion'], ['body', '1']]) {
    assert.match(await fails(6, [...args, '--browser', 'nobody']), /nobody/, args.join(' '));
  }
  for (const args of [
    ['console', '--level', 'loud'], ['console', '--grep', '('], ['console', '--since', 'soon'], ['console', '-n', '0'], ['network', '--status', '9'],
    ['console', '--browser', 'a', '--port', '1'], ['eval', '1', '--timeout', '0'], ['tabs', '--port', '0'], ['console', '--browser', '../x'], ['body'],
  ]) await fails(2, args);
});

test('looking at a browser that does not run starts nothing; a command to it does', hubOnly, () => withHome(async (home) => {
  const hub = await home.serve();
  for (const args of [['tabs'], ['console'], ['network'], ['har'], ['clear']]) {
    const { code, stderr } = await home.run(args);
    assert.equal(code, 0, `${args}: ${stderr}`);
  }
  assert.deepEqual(home.browsers(), []);
  assert.equal((await home.run(['eval', '1 + 1'])).stdout, '2\n');
  assert.equal(home.browsers().length, 1);
  await hub.end();
}));
