// `--json` on every command: one document on stdout that says whether it succeeded; and the exit codes.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before } from 'node:test';
import { hubOnly } from './lib/env.mjs';
import { Home } from './lib/hub.mjs';
import { fakeBrowser, withHome } from './lib/life.mjs';
import { alive, gone } from './lib/processes.mjs';
import { test } from './lib/test.mjs';

let home;
before(async () => { home = await Home.make(); });
after(() => home.cleanup());

/** Runs with --json and checks what every answer has in common. */
async function ask(args, options, at = home) {
  const split = args.indexOf('--');
  const words = split < 0 ? [...args, '--json'] : args.toSpliced(split, 0, '--json');
  const { code, stdout, stderr } = await at.run(words, options);
  const what = `bowline ${words.join(' ')} (exit ${code})\nstdout: ${stdout}\nstderr: ${stderr}`;
  const document = await new Promise((resolve) => resolve(JSON.parse(stdout))).catch(() => null);
  assert.ok(document, `one JSON document: ${what}`);
  assert.equal(document.success, code === 0, `success goes with the exit code: ${what}`);
  assert.deepEqual(Object.keys(document).sort(), [code === 0 ? 'data' : 'error', 'success'], what);
  return { code, ...document };
}

/** The data of a command that must succeed. */
async function data(...args) {
  const { success, data: told, error } = await ask(args);
  assert.ok(success, `bowline ${args.join(' ')}: ${JSON.stringify(error)}`);
  return told;
}

async function fails(args, exit, code, at) {
  const { code: got, error } = await ask(args, {}, at);
  assert.deepEqual([got, error?.code], [exit, code], `${args.join(' ')}: ${JSON.stringify(error)}`);
  assert.ok(error.message, 'a message');
  assert.doesNotMatch(error.message, /Error \{|Some\(|Os \{/, 'no Rust in it');
  return error;
}

test('every command that succeeds answers with its data', hubOnly, async () => {
  assert.deepEqual(await data('stop'), [], 'no hub yet');
  assert.deepEqual(await data('shutdown'), { was_running: false });
  const { endpoint, port } = await data('endpoint');
  assert.equal(endpoint, `http://127.0.0.1:${port}`);
  const { pid, port: hubs } = await data('status');
  assert.deepEqual([alive(pid), hubs], [true, port]);
  const { installed } = await data('browsers');
  assert.ok(installed.length > 0 && installed.every(({ kind, path, version }) => kind && path && version),
    JSON.stringify(installed));
  const launched = await data('launch');
  assert.deepEqual([launched.name, launched.state, launched.endpoint], ['default', 'ready', endpoint]);
  const restarted = await data('restart');
  assert.notEqual(restarted.pid, launched.pid);
  assert.equal(restarted.endpoint, endpoint);
  assert.deepEqual((await data('stop')).map(({ name, state }) => [name, state]), [['default', 'stopped']]);
  assert.deepEqual(await data('stop', '--all'), []);
  const rows = await data('config', 'show');
  assert.ok(rows.every((row) => row.key && 'value' in row && row.origin), JSON.stringify(rows[0]));
  assert.ok((await data('config', 'path')).path.startsWith(home.config));
  assert.match((await data('config', 'example')).toml, /idle_timeout/);
  assert.deepEqual(await data('shutdown'), { was_running: true, pid });
  // It returns when the hub has let go of everything; the process may still be on its last step.
  await gone(pid, 1_000);
});

test('doctor answers with its findings; success goes with its verdict', hubOnly, async () => {
  const findings = await data('doctor');
  assert.ok(findings.some(({ check, verdict }) => check === 'launch' && verdict === 'good'));
  const { code, stdout } = await home.run(['doctor', '--json'], { env: { BOWLINE_BROWSER: '/nonexistent' } });
  assert.equal(code, 1);
  assert.match(stdout, /"verdict":"bad"/);
  assert.equal(JSON.parse(stdout).success, false);
});

test('completions are a JSON document too when asked', hubOnly, async () => {
  const { stdout } = await home.run(['completions', 'bash', '--json']);
  assert.equal(stdout[0], '{', 'no bare script');
  assert.equal(JSON.parse(stdout).success, true);
});

test('wrong usage is a JSON document too', hubOnly, async () => {
  for (const args of [['knot'], ['status', '--knot'], ['wrap'], ['launch', '--headed', '--headless']]) {
    const { code, error } = await ask(args);
    assert.equal(code, 2);
    assert.ok(error.message, 'a message');
  }
});

test('exit 2: names and addresses that cannot be', hubOnly, async () => {
  await fails(['endpoint', 'Not A Name'], 2, 'bad_name');
  for (const name of ['UP', '../up', 'a/b', 'two words', '?', 'ä']) {
    await fails(['launch', name], 2, 'bad_name');
    await fails(['attach', name, '127.0.0.1:1'], 2, 'bad_name');
  }
  await fails(['launch', 'work', '--profile', '../up'], 2, 'bad_profile');
  await fails(['attach', 'nonsense'], 2, 'bad_address');
  await fails(['attach'], 2, 'bad_request');
});

test('exit 3: no such browser is installed, with a hint what is', hubOnly, () => withHome(async (own) => {
  const error = await fails(['launch'], 3, 'no_browser', own);
  assert.match(error.message, /brave/i);
  assert.match(error.hint, /BOWLINE_BROWSER|install/);
  const { error: again } = await ask(['launch', '--browser', '/nonexistent/browser'], {}, own);
  assert.match(again.message, /\/nonexistent\/browser/);
}, { BOWLINE_BROWSER: 'brave' }));

test('exit 4: a browser that dies at once, and one that nobody runs', hubOnly, () => withHome(async (own) => {
  const { path } = await fakeBrowser(own, 'echo "knot not tied" >&2; exit 7');
  const { code, error } = await ask(['launch', '--browser', path], {}, own);
  assert.equal(code, 4);
  assert.match(error.message, /knot not tied/, 'its last words');
  assert.match(error.message, /7/, 'its exit code');
  assert.ok(error.hint);
  await fails(['attach', 'nobody', '127.0.0.1:1'], 4, 'unreachable', own);
}));

test('exit 5: a hub that cannot start, told through the command that wanted it', hubOnly, () => withHome(async (own) => {
  const holder = createServer();
  await new Promise((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const { port } = holder.address();
  own.env.BOWLINE_PORT = String(port);
  try {
    for (const args of [['status'], ['endpoint'], ['launch'], ['wrap', '--', 'true']]) {
      const error = await fails(args, 5, 'port_taken', own);
      assert.match(error.message, new RegExp(`${port}.*\\b${process.pid}\\b`), 'the holder');
      assert.match(error.hint, /BOWLINE_PORT/);
    }
    assert.deepEqual(own.processes(), []);
  } finally {
    holder.close();
  }
}));

test('exit 6: names that nobody gave', hubOnly, async () => {
  await home.json('endpoint');
  for (const args of [['restart', 'nobody'], ['stop', 'nobody'], ['stop', 'nobody', '--forget']]) {
    const error = await fails(args, 6, 'no_such_browser');
    assert.match(error.message, /nobody/);
    assert.ok(error.hint);
  }
});
