// The verbs: separate processes that share a session, batches, exit codes and what `--json` says.
import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { html } from './lib/site.mjs';
import { test } from './lib/test.mjs';

const at = fixture({
  pages: {
    '/form': html('form', `<h1>Knots</h1><label>Name <input id=name></label>
      <label><input type=checkbox id=wet> wet</label>
      <select id=rope><option value=h>hemp<option value=n>nylon</select>
      <input type=file id=file><button id=go onclick="document.title = 'tied by ' + document.querySelector('#name').value">Tie</button>
      <button id=ask onclick="document.title = String(confirm('sure?'))">Ask</button>`),
  },
  open: (own) => { own.home = own.target.home; },
});

/** What a command that must succeed prints. */
async function prints(args, options) {
  const { code, stdout, stderr } = await at.home.run(args, options);
  assert.deepEqual([code, stderr], [0, ''], `bowline ${args.join(' ')}: ${stdout}`);
  return stdout;
}

/** What a command that must fail says on stderr. */
async function fails(exit, args, options) {
  const { code, stdout, stderr } = await at.home.run(args, options);
  assert.equal(code, exit, `bowline ${args.join(' ')}: ${stdout}${stderr}`);
  return stderr;
}

const path = (session) => prints(['eval', 'location.pathname', ...(session ? ['--session', session] : [])]).then((text) => text.trim());

test('pictures and documents go where the caller says, or into the hub\'s directory', hubOnly, async () => {
  const env = { BOWLINE_SESSION: 'pictures' };
  await prints(['open', at.site.url('/form')], { env });
  for (const [args, magic] of [
    [['screenshot', join(at.home.root, 'a.png'), '--full'], '\x89PNG'],
    [['screenshot', join(at.home.root, 'a.jpg'), '--element', 'h1'], '\xff\xd8'],
    [['screenshot', '--annotate'], '\x89PNG'],
    [['pdf', join(at.home.root, 'a.pdf')], '%PDF'],
  ]) {
    const { file } = JSON.parse(await prints([...args, '--json'], { env })).data;
    assert.ok((await readFile(file, 'latin1')).startsWith(magic), `${args}: ${file}`);
    if (args[1].startsWith('/')) assert.equal((await stat(file)).mode & 0o077, 0, 'its owner\'s alone');
  }
  assert.equal(await prints(['screenshot', join(at.home.root, 'b.png')], { env }), `${join(at.home.root, 'b.png')}\n`);
  assert.match(await prints(['screenshot'], { env }), /screenshot-\d+\.png/);
});

test('a session keeps its current tab between processes', hubOnly, async () => {
  assert.match(await prints(['open', at.site.url('/two'), '--session', 'one']), /\/two\ntwo\n/);
  await prints(['open', at.site.url('/three')], { env: { BOWLINE_SESSION: 'two' } });
  assert.deepEqual([await path('one'), await path('two')], ['/two', '/three']);
  assert.equal(await prints(['--session', 'one', 'eval', 'location.pathname']), '/two\n', 'before the verb, too');
  assert.equal(await prints(['eval', 'location.pathname'], { env: { BOWLINE_SESSION: 'one' } }), '/two\n');
  await prints(['open', at.site.url('/'), '--session', 'one']);
  await prints(['back', '--session', 'one']);
  assert.equal(await path('one'), '/two');
  await prints(['forward', '--session', 'one']);
  assert.equal(await path('one'), '/');
  await prints(['reload', '--session', 'one']);
});

test('without a session, verbs and eval share the default one', hubOnly, async () => {
  await prints(['open', at.site.url('/three'), '--new']);
  await prints(['open', at.site.url('/'), '--new', '--session', 'newer']);
  assert.equal(await path(), '/three');
});

test('tabs are opened, chosen, named and closed', hubOnly, async () => {
  const session = ['--session', 'tabs'];
  await prints(['open', at.site.url('/'), ...session]);
  await prints(['tab', 'new', at.site.url('/two'), '--label', 'second', ...session]);
  await prints(['wait', '--load', ...session]);
  assert.equal(await path('tabs'), '/two');
  const { tabs } = await at.home.json('tab', ...session);
  const own = tabs.filter(({ owner }) => owner === 'tabs');
  assert.deepEqual(own.filter(({ current }) => current).map(({ label }) => label), ['second']);
  await prints(['tab', own.find(({ label }) => label === undefined).tab, ...session]);
  assert.equal(await path('tabs'), '/');
  await prints(['tab', 'second', ...session]);
  assert.equal(await path('tabs'), '/two');
  await prints(['tab', 'close', ...session]);
  assert.equal((await at.home.json('tab', ...session)).tabs.length, tabs.length - 1);
  assert.match(await fails(7, ['tab', 'nowhere', ...session]), /nowhere/);
});

test('a tab of another session is locked, and can be taken over', hubOnly, async () => {
  const { tab } = await at.home.json('open', at.site.url('/'), '--new', '--session', 'owner');
  const error = await at.home.failure('open', at.site.url('/two'), '--tab', tab, '--session', 'guest');
  assert.deepEqual([error.code, error.exit, error.owner], ['tab_locked', 1, 'owner']);
  assert.match(error.hint, /take/);
  await prints(['tab', 'take', tab, '--session', 'guest']);
  await prints(['open', at.site.url('/two'), '--session', 'guest']);
  assert.equal(await path('guest'), '/two');
  await prints(['tab', 'release', tab, '--session', 'guest']);
  await prints(['open', at.site.url('/three'), '--tab', tab, '--session', 'owner']);
});

test('waiting ends with what is waited for, or with exit code 8', hubOnly, async () => {
  const session = ['--session', 'waiting'];
  await prints(['open', at.site.url('/'), ...session]);
  await prints(['wait', '10', ...session]);
  await prints(['wait', '--url', '/', '--load', ...session]);
  await prints(['wait', '--fn', 'document.title === "home"', ...session]);
  assert.match(await fails(8, ['wait', '--fn', 'false', '--timeout', '100', ...session]), /hint/);
  await fails(2, ['wait', ...session]);
});

test('--json is the envelope, and failure is an exit code', hubOnly, async () => {
  const { url, title, text, tab } = await at.home.json('open', at.site.url('/two'), '--session', 'json');
  assert.deepEqual([url, title], [at.site.url('/two'), 'two']);
  assert.ok(text && tab);
  assert.equal((await at.home.json('run', 'evaluate', '{"expression": "6 * 7"}', '--session', 'json')).value, 42);
  assert.equal((await at.home.json('run', 'evaluate', 'expression=location.pathname', '--session', 'json')).value, '/two');
  const wrong = [
    [['run', 'knot'], 2, 'no_such_op', /knot/],
    [['run', 'navigate', 'url=5'], 2, 'bad_input', /`url`/],
    [['run', 'navigate', 'knot=5'], 2, 'bad_input', /knot/],
    [['run', 'evaluate', 'expression=nothing.there'], 9, 'page_threw', /nothing/],
    [['open', 'http://127.0.0.1:1/'], 1, 'navigation_failed', /127\.0\.0\.1:1/],
    [['back', '--tab', 'nowhere'], 7, 'no_such_tab', /nowhere/],
    [['back', '--browser', 'nobody'], 6, 'no_such_browser', /nobody/],
    [['back', '--browser', '../x'], 2, 'bad_name', /x/],
    [['open'], 2, 'usage', /URL/],
    [['tab', 'a', 'b'], 2, 'usage', /b/],
  ];
  for (const [args, exit, code, names] of wrong) {
    const error = await at.home.failure(...args, ...(args.length > 1 ? ['--session', 'json'] : []));
    assert.deepEqual([error.exit, error.code], [exit, code], args.join(' '));
    assert.match(error.message, names, args.join(' '));
  }
});

test('a page is looked at and acted on', hubOnly, async () => {
  const env = { BOWLINE_SESSION: 'form' };
  const says = (...args) => prints(args, { env });
  await says('open', at.site.url('/form'));
  const snapshot = await says('snapshot', '-i');
  const ref = /button "Tie".*\[ref=(e\d+)\]/.exec(snapshot)?.[1];
  assert.ok(ref, snapshot);
  assert.match(await says('snapshot', '-s', 'h1'), /Knots/);
  await says('fill', '#name', 'Ada');
  await says('click', ref);
  assert.equal(await says('get', 'title'), 'tied by Ada\n');
  assert.equal(await says('get', 'value', '#name'), 'Ada\n');
  assert.equal(await says('get', 'attr', 'input[type=file]', 'id'), 'file\n');
  assert.equal(await says('get', 'count', 'input'), '3\n');
  assert.equal(await says('get', 'text', 'h1'), 'Knots\n');
  const { code, stdout } = await at.home.run(['is', 'checked', '#wet'], { env });
  assert.deepEqual([code, stdout], [1, 'false\n'], 'no is an answer');
  await says('check', '#wet');
  assert.equal(await says('is', 'checked', '#wet'), 'true\n');
  await says('uncheck', '#wet');
  await says('select', '#rope', 'nylon');
  assert.equal(await says('get', 'value', '#rope'), 'n\n');
  await says('type', '#name', ' Lovelace');
  await says('press', 'Backspace', '--on', '#name');
  await says('hover', '#go');
  await says('scroll', 'bottom');
  await says('wait', '#go');
  assert.match(await says('find', 'text=Tie'), /^e\d+ button "Tie"/);
  assert.match(await says('text'), /Knots/);
  const file = join(at.home.root, 'rope.txt');
  await writeFile(file, 'hemp');
  await says('upload', '#file', file);
  assert.equal(await says('eval', 'document.querySelector("#file").files[0].name'), 'rope.txt\n');
  await says('batch', 'run evaluate expression="setTimeout(() => document.querySelector(\'#ask\').click()), 1"', 'wait 200', 'dialog accept');
  await says('wait', '--fn', 'document.title === "true"');
  await says('cookies', 'set', 'knot', 'bowline');
  assert.match(await says('cookies'), /knot.*bowline/s);
  await says('storage', 'local', 'set', 'rope', 'hemp');
  assert.match(await says('storage', 'local', 'get', 'rope'), /hemp/);
  const state = join(at.home.root, 'state.json');
  await says('state', 'save', state);
  assert.match(await readFile(state, 'utf8'), /bowline.*hemp/s);
  await says('cookies', 'clear');
  await says('state', 'load', state);
  assert.match(await says('eval', 'document.cookie'), /knot=bowline/);
  await says('resize', '640', '480');
  assert.equal(await says('eval', 'innerWidth'), '640\n');
  await says('emulate', 'color_scheme=dark');
  assert.equal(await says('eval', 'matchMedia("(prefers-color-scheme: dark)").matches'), 'true\n');
  assert.match(await says('fetch', '/api'), /"?from"?/);
  assert.match(await fails(7, ['click', '#nowhere', '--timeout', '300'], { env }), /nowhere/);
});

test('a batch runs its commands in order, and stops at the first that fails', hubOnly, async () => {
  const session = ['--session', 'batch'];
  const lines = [`open '${at.site.url('/two')}'`, '# what is said of it', '', 'eval "location.pathname + \' \' + document.title"', 'run evaluate expression=1+1'];
  assert.match(await prints(['batch', ...session, ...lines]), /\n\/two two\n2\n$/);
  assert.match(await prints(['batch', ...session], { input: lines.join('\n') }), /\n\/two two\n2\n$/);
  const broken = ['eval 1', 'eval nothing.there', 'eval 2'];
  const { code, stdout } = await at.home.run(['batch', ...session, ...broken]);
  assert.deepEqual([code, stdout], [9, '1\n']);
  const { code: all, stdout: said } = await at.home.run(['batch', '--continue-on-error', ...session, ...broken]);
  assert.deepEqual([all, said], [1, '1\n2\n']);
  assert.match(await fails(2, ['batch', 'knot']), /knot/);
  assert.match(await fails(2, ['batch', "eval 'x"]), /quote/);
  await fails(2, ['batch', 'batch back']);
});

test('a batch hands its browser, tab and time on to eval, and exits as its commands do', hubOnly, async () => {
  const session = ['--session', 'handing'];
  const { tab } = await at.home.json('open', at.site.url('/two?handing'), ...session);
  await prints(['open', at.site.url('/three?handing'), '--new', ...session]);
  assert.equal(await prints(['batch', ...session, 'eval location.pathname']), '/three\n');
  for (const name of [tab, '/two?handing']) {
    assert.equal(await prints(['batch', ...session, '--tab', name, 'eval location.pathname', 'get url']), `/two\n${at.site.url('/two?handing')}\n`, name);
    assert.equal(await prints(['eval', name, 'location.pathname', ...session]), '/two\n', name);
  }
  assert.equal(await prints(['batch', ...session, '--tab', tab, 'eval /three?handing location.pathname']), '/three\n', 'its own word wins');
  assert.match(await fails(6, ['batch', ...session, '--browser', 'nobody', 'eval 1']), /nobody/);
  assert.equal(await prints(['batch', ...session, '--browser', 'nobody', 'eval --browser default 1']), '1\n');
  await fails(8, ['batch', ...session, '--timeout', '200', 'eval "await new Promise(() => {})"']);
  // A no is an exit code, and so is that of a command that is no verb.
  const no = await at.home.run(['batch', ...session, "is visible '#nowhere'", 'eval 1']);
  assert.deepEqual([no.code, no.stdout], [1, 'false\n']);
  const bad = await at.home.run(['batch', ...session, 'doctor', 'eval 1'], { env: { BOWLINE_BROWSER: '/nonexistent' } });
  assert.equal(bad.code, 1);
  assert.ok(!bad.stdout.endsWith('\n1\n'), 'it stops there');
});

test('a batch with --json prints an envelope for each command', hubOnly, async () => {
  const args = ['batch', '--json', '--session', 'batch', '--continue-on-error'];
  const { code, stdout } = await at.home.run([...args, `open ${at.site.url('/')}`, 'knot', 'tabs', 'run evaluate expression=document.title', 'back --tab nowhere']);
  const answers = stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(code, 1);
  assert.deepEqual(answers.map(({ success }) => success), [true, false, true, true, false]);
  assert.equal(answers[3].data.value, 'home');
  assert.deepEqual([answers[1].error.code, answers[4].error.code], ['usage', 'no_such_tab']);
});

test('the ops are listed without a hub, as a table, with fields, and as a document', hubOnly, async () => {
  assert.match(await prints(['ops']), /^navigate +core +\S/m);
  assert.match(await prints(['ops', 'navigate']), /^url +text +.*required/m);
  assert.match(await prints(['ops', '--markdown']), /^### evaluate$/m);
  assert.ok((await at.home.json('ops')).every(({ name, schema }) => name && schema.type === 'object'));
  assert.match(await fails(2, ['ops', 'knot']), /knot/);
});
