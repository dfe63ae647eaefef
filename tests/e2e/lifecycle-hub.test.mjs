// The hub itself: one per user, its state file, its port, and what it leaves behind.
import assert from 'node:assert/strict';
import { lstat, readFile, readdir, stat, symlink, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { browserWs, http } from './lib/http.mjs';
import { endpointOf, freePort, profileOf, withHome } from './lib/life.mjs';
import { alive, gone } from './lib/processes.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const exists = (path) => stat(path).then(() => true, () => false);

/** The file in the runtime directory that tells of the hub: the one with its port. */
async function stateFile(home, { port }) {
  const dir = join(home.runtime, 'bowline');
  for (const name of await readdir(dir)) {
    const path = join(dir, name);
    const text = await readFile(path, 'utf8').catch(() => '');
    if (text.startsWith('{') && text.includes(String(port))) return path;
  }
  throw new Error(`no state file in ${await readdir(dir)}`);
}

test('twenty commands at once start one hub', hubOnly, () => withHome(async (home) => {
  const all = await Promise.all(Array.from({ length: 20 }, () => home.json('status')));
  assert.equal(new Set(all.map(({ pid }) => pid)).size, 1);
  assert.equal(new Set(all.map(({ port }) => port)).size, 1);
  const { pid } = all[0];
  assert.equal(alive(pid), true);
  await home.json('shutdown');
  await gone(pid);
  await until('nothing is left', () => home.processes().length === 0);
}));

test('the state file is private, tells port and pid, and goes with the hub', hubOnly, () => withHome(async (home) => {
  const hub = await home.serve();
  const path = await stateFile(home, hub);
  assert.equal((await stat(join(home.runtime, 'bowline'))).mode & 0o777, 0o700);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const state = JSON.parse(await readFile(path, 'utf8'));
  assert.deepEqual([state.port, state.pid], [hub.port, hub.pid]);
  const { code } = await hub.end();
  assert.equal(code, 0);
  assert.equal(await exists(path), false);
}));

test('without a runtime directory the state is below TMPDIR, for this user', hubOnly, () => withHome(async (home) => {
  delete home.env.XDG_RUNTIME_DIR;
  await home.serve();
  const dir = join(home.tmp, `bowline-${process.getuid()}`);
  assert.equal((await stat(dir)).mode & 0o777, 0o700);
  assert.equal((await home.run(['status'])).code, 0);
}));

test('a killed hub leaves no browser; the next has the same port and sweeps the profile', hubOnly, () => withHome(async (home) => {
  home.env.BOWLINE_PORT = String(await freePort());
  const first = await home.serve();
  await browserWs(first.endpoint);
  const profile = profileOf(home.browsers()[0]);
  await first.kill();
  await until('no browser left', () => home.browsers().length === 0, 5_000);
  const second = await home.serve();
  assert.equal(second.port, first.port);
  await until('the old profile swept', async () => !(await exists(profile)), 5_000);
  const cdp = await Cdp.connect(second.endpoint);
  assert.ok((await cdp.send('Browser.getVersion')).product);
  await cdp.close();
}));

test('shutdown and SIGTERM end the browser, its profile and every client', hubOnly, () => withHome(async (home) => {
  for (const end of [(hub) => hub.end(), () => home.json('shutdown')]) {
    const hub = await home.serve();
    const cdp = await Cdp.connect(hub.endpoint);
    const [browser] = home.browsers();
    await end(hub);
    await within(10_000, 'the hub gone', hub.exited);
    const { code, reason } = await within(2_000, 'the client closed', cdp.closed);
    assert.ok([1001, 1011].includes(code), `code ${code}`);
    assert.notEqual(reason, '');
    assert.equal(alive(browser.pid), false);
    assert.equal(await exists(profileOf(browser)), false);
  }
}));

test('a stale state file of a dead hub does not keep a new one away', hubOnly, () => withHome(async (home) => {
  const old = await home.serve();
  const path = await stateFile(home, old);
  await old.kill();
  assert.equal(await exists(path), true);
  const { pid } = await home.json('status');
  assert.notEqual(pid, old.pid);
  assert.equal(alive(pid), true);
}));

test('a state file that names somebody else\'s process harms nobody', hubOnly, () => withHome(async (home) => {
  const old = await home.serve();
  const path = await stateFile(home, old);
  const state = JSON.parse(await readFile(path, 'utf8'));
  await old.kill();
  const port = await freePort();
  await writeFile(path, JSON.stringify({ ...state, pid: process.pid, port }), { mode: 0o600 });
  const { pid } = await home.json('status');
  assert.notEqual(pid, process.pid);
  await home.json('shutdown');
}));

for (const [name, text] of [['empty', ''], ['garbage', '\u0000\u0001 not json'], ['of another shape', '[1, 2]'], ['cut off', '{"port": 92']]) {
  test(`a state file that is ${name} is replaced`, hubOnly, () => withHome(async (home) => {
    const old = await home.serve();
    const path = await stateFile(home, old);
    await old.kill();
    await writeFile(path, text, { mode: 0o600 });
    const { pid, port } = await home.json('status');
    assert.equal(alive(pid), true);
    assert.equal(JSON.parse(await readFile(path, 'utf8')).port, port);
  }));
}

test('a symlinked state file is never followed', hubOnly, () => withHome(async (home) => {
  const old = await home.serve();
  const path = await stateFile(home, old);
  await old.kill();
  const bait = join(home.root, 'bait');
  await writeFile(bait, 'untouched');
  await rm(path);
  await symlink(bait, path);
  const { code, stderr, stdout } = await home.run(['status', '--json']);
  assert.equal(await readFile(bait, 'utf8'), 'untouched');
  if (code === 0) assert.equal((await lstat(path)).isSymbolicLink(), false);
  else assert.match(stdout + stderr, /symlink|symbolic link/i);
}));

test('a taken port is an error that names its holder and another way', hubOnly, () => withHome(async (home) => {
  const holder = createServer();
  await new Promise((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const { port } = holder.address();
  home.env.BOWLINE_PORT = String(port);
  try {
    const { code, stdout, stderr } = await home.run(['serve']);
    assert.notEqual(code, 0);
    const said = stdout + stderr;
    assert.match(said, new RegExp(String(port)));
    assert.match(said, new RegExp(`\\b${process.pid}\\b`), 'the holder\'s pid');
    assert.match(said, /BOWLINE_PORT|--port/, 'another way');
  } finally {
    holder.close();
  }
}));

test('a second hub of the same user says that one runs already', hubOnly, () => withHome(async (home) => {
  const hub = await home.serve();
  const { code, stdout, stderr } = await home.run(['serve']);
  assert.notEqual(code, 0);
  assert.match(stdout + stderr, new RegExp(`\\b(${hub.pid}|${hub.port})\\b`));
  assert.equal((await http(hub.endpoint, '/healthz')).status, 200);
}));

test('a named browser keeps its port over restarts of browser and hub', hubOnly, () => withHome(async (home) => {
  const first = await home.serve();
  const address = await endpointOf(home, 'work');
  await browserWs(address);
  await home.json('restart', 'work');
  assert.equal(await endpointOf(home, 'work'), address);
  await first.end();
  await home.serve();
  assert.equal(await endpointOf(home, 'work'), address);
  assert.ok(await browserWs(address));
}));

test('the control API wants the token; /healthz does not', hubOnly, () => withHome(async (home) => {
  const { endpoint } = await home.serve();
  assert.equal((await http(endpoint, '/healthz')).status, 200);
  for (const path of ['/api/status', '/api/browsers', '/api/shutdown']) {
    for (const method of ['GET', 'POST']) {
      const { status } = await http(endpoint, path, { method, headers: { 'content-type': 'application/json' } });
      assert.ok([401, 403, 404, 405].includes(status), `${method} ${path}: ${status}`);
    }
  }
  assert.equal((await http(endpoint, '/healthz')).status, 200, 'it still runs');
}));
