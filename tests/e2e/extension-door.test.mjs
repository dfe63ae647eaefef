// The door for the extension in a person's browser, with a scripted extension: who may come in, the
// pairing in all its ends, and what our commands say about it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { access, chmod, mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { newInstance, ORIGIN, Peer, PEER_ID } from './lib/extension-peer.mjs';
import { http } from './lib/http.mjs';
import { withHome, withHub } from './lib/life.mjs';
import { Rest } from './lib/rest.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const ENV = { BOWLINE_EXTENSION_IDS: PEER_ID };
const stateDir = (home) => join(home.state, 'bowline');
const exists = (path) => access(path).then(() => true, () => false);

/** Runs `body` with a hub and its REST API. */
const withDoor = (body, env) => withHub(async ({ home, hub }) =>
  body({ home, hub, port: hub.port, rest: await Rest.of({ home, port: hub.port }) }), { ...ENV, ...env });

/** A browser that is paired and connected, in one step through the route of the native host. */
async function paired({ rest, port }, { instance = newInstance(), name } = {}) {
  const given = await rest.post('/extensions/native', { instance, browser: { name: 'Chromium', version: '156' }, name });
  const peer = await Peer.open(port, { instance });
  peer.key = given.key;
  await peer.enter(given.key);
  peer.name = await peer.welcome();
  assert.equal(peer.name, given.name);
  return peer;
}

/** The status with which a socket is refused. */
const refused = (port, options) => Peer.open(port, options).then(() => 'opened', ({ status }) => status);

/** Opens a pairing as a command without a terminal does, and brings an extension up to its code. */
async function withCode({ home, port, rest }, ...args) {
  const told = await home.failure('extension', 'pair', ...args);
  assert.equal(told.exit, 2);
  assert.match(told.hint, /--code/);
  const peer = await Peer.open(port);
  await peer.exchange();
  await until('the hub shows the code', async () => (await rest.get('/extensions/pairing')).code === peer.code);
  return peer;
}

test('a whole pairing: code, button, key, and the browser is there under its name', hubOnly, () => withDoor(async (at) => {
  const peer = await withCode(at);
  assert.ok(peer.keptItsWord, 'the hub reveals what it has committed to');
  const { state, browser, code } = await at.rest.get('/extensions/pairing');
  assert.deepEqual([state, browser.name, code], ['code_shown', 'Chromium', peer.code]);
  const command = at.home.json('extension', 'pair', '--code', `${peer.code.slice(0, 3)} ${peer.code.slice(3)}`);
  await until('the terminal has said yes', async () => (await at.rest.get('/extensions/pairing')).confirmed);
  await peer.confirm();
  assert.equal(await peer.paired(), 'chromium');
  assert.deepEqual(await command, { name: 'chromium', browser: { name: 'Chromium', version: '156.0.8078.73', userAgent: 'Mozilla/5.0 (scripted)' } });

  const status = await at.home.json('extension', 'status');
  const [listed] = status.extensions;
  assert.deepEqual([listed.name, listed.connected, listed.instance, listed.version], ['chromium', true, peer.instance, '0.1.0']);
  assert.ok(!JSON.stringify(status).includes(peer.key), 'the key is told to nobody');
  const known = (await at.home.status('chromium')).browser;
  assert.equal(known.backend, 'extension');
  assert.ok(known.needs_token && known.port > 0);
  const { code: exit, stdout } = await at.home.run(['endpoint', 'chromium']);
  assert.equal(exit, 0);
  assert.match(stdout, new RegExp(`^http://127.0.0.1:${known.port}/t/`));

  await peer.close();
  await until('not connected', async () => !(await at.rest.get('/extensions')).extensions[0].connected);
  const again = await Peer.open(at.port, { instance: peer.instance });
  assert.deepEqual(await again.enter(peer.key), { protocol: 1, version: (await at.home.status()).version });
  assert.equal(await again.welcome(), 'chromium');
  await again.close();

  const file = join(stateDir(at.home), 'extensions.json');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
}));

test('the button may come before the answer in the terminal, and a name may be asked for', hubOnly, () => withDoor(async (at) => {
  const peer = await withCode(at, '--name', 'mine');
  await peer.confirm();
  await until('the button is known', async () => (await at.rest.get('/extensions/pairing')).state === 'confirmed_by_extension');
  assert.equal((await at.home.json('extension', 'pair', '--code', peer.code)).name, 'mine');
  assert.equal(await peer.paired(), 'mine');
  await peer.close();
  const taken = await at.home.failure('extension', 'pair', '--name', 'default', '--code', '000000');
  assert.equal(taken.code, 'name_taken');
}));

test('pings come while codes are compared, and a pong is no answer', { ...hubOnly, timeout: 40_000 }, () => withDoor(async (at) => {
  const peer = await withCode(at);
  await until('two pings', () => peer.pings >= 2, 15_000);
  await at.rest.post('/extensions/pairing/confirm', { code: peer.code });
  await peer.confirm();
  assert.equal(await peer.paired(), 'chromium');
  await peer.close();
}));

test('another code in the terminal closes the pairing', hubOnly, () => withDoor(async (at) => {
  const peer = await withCode(at);
  await peer.confirm();
  const other = String((Number(peer.code) + 1) % 1_000_000).padStart(6, '0');
  const failure = await at.home.failure('extension', 'pair', '--code', other);
  assert.deepEqual([failure.code, failure.exit], ['wrong_code', 1]);
  assert.deepEqual(await peer.refused(), {
    code: 'pairing_declined', message: 'the pairing was declined in the terminal',
    hint: 'run `bowline extension pair` to try again', closed: 4400,
  });
  assert.deepEqual((await at.rest.get('/extensions')).extensions, []);
  assert.ok(!await exists(join(stateDir(at.home), 'cdp-url')));
  assert.equal((await at.home.failure('extension', 'pair', '--code', '12345')).exit, 2, 'not a code at all');
}));

test('declined, timed out, not open, busy: each is told', hubOnly, () => withDoor(async (at) => {
  let peer = await Peer.open(at.port);
  peer.hello();
  assert.equal((await peer.refused()).code, 'not_paired');

  await at.rest.post('/extensions/pairing', {});
  assert.equal((await at.rest.refused('POST', '/extensions/pairing', { body: {} })).code, 'pairing_open');
  peer = await Peer.open(at.port);
  await peer.exchange();
  const second = await Peer.open(at.port);
  second.hello();
  assert.equal((await second.refused()).code, 'pairing_busy');
  assert.equal((await at.rest.refused('POST', '/extensions/pairing/confirm', { body: { code: 'x' } })).code, 'wrong_code');
  assert.equal((await at.rest.delete('/extensions/pairing')).state, 'declined');
  assert.equal((await peer.refused()).code, 'pairing_declined');
  assert.equal((await at.rest.refused('POST', '/extensions/pairing/confirm', { body: { code: peer.code } })).code, 'no_pairing');

  await at.rest.post('/extensions/pairing', { seconds: 1 });
  peer = await Peer.open(at.port);
  await peer.exchange();
  assert.equal((await peer.refused()).code, 'pairing_timeout');
  assert.equal((await at.rest.get('/extensions/pairing')).state, 'timed_out');
  const late = await at.home.failure('extension', 'pair', '--code', '123456', '--timeout', '1s');
  assert.deepEqual([late.code, late.exit], ['timeout', 8]);
}));

test('Ctrl-C closes the pairing', hubOnly, () => withDoor(async (at) => {
  const child = at.home.spawn(['extension', 'pair', '--code', '123456']);
  const ended = new Promise((resolve) => child.on('exit', resolve));
  await until('a pairing is open', async () => (await at.rest.get('/extensions/pairing')).state === 'waiting');
  child.kill('SIGINT');
  assert.equal(await within(5_000, 'the command gone', ended), 130);
  assert.equal((await at.rest.get('/extensions/pairing')).state, 'declined');
}));

test('an extension that leaves takes the yes to its code with it', hubOnly, () => withDoor(async (at) => {
  await at.rest.post('/extensions/pairing', {});
  const first = await Peer.open(at.port);
  await first.exchange();
  await until('its code', async () => (await at.rest.get('/extensions/pairing')).code === first.code);
  await at.rest.post('/extensions/pairing/confirm', { code: first.code });
  await first.close();
  await until('waiting again', async () => (await at.rest.get('/extensions/pairing')).state === 'waiting');
  const second = await Peer.open(at.port);
  await second.exchange();
  await second.confirm();
  await until('its button', async () => (await at.rest.get('/extensions/pairing')).state === 'confirmed_by_extension');
  assert.equal((await at.rest.get('/extensions/pairing')).confirmed, false);
  await at.rest.delete('/extensions/pairing');
  assert.equal((await second.refused()).code, 'pairing_declined');
}));

test('somebody in between, with another key, does not get the pairing', hubOnly, () => withDoor(async (at) => {
  await at.rest.post('/extensions/pairing', {});
  const peer = await Peer.open(at.port);
  await peer.exchange();
  await until('its code', async () => (await at.rest.get('/extensions/pairing')).code === peer.code);
  await at.rest.post('/extensions/pairing/confirm', { code: peer.code });
  await peer.confirm(newInstance().padEnd(43, 'A'));
  assert.equal((await peer.refused()).code, 'wrong_proof');
  const { state, reason } = await at.rest.get('/extensions/pairing');
  assert.equal(state, 'declined');
  assert.match(reason, /between/);
  assert.deepEqual((await at.rest.get('/extensions')).extensions, []);
}));

test('a wrong proof, an unknown installation, other versions and nonsense are refused', hubOnly, () => withDoor(async (at) => {
  const instance = newInstance();
  const { key } = await at.rest.post('/extensions/native', { instance });
  let peer = await Peer.open(at.port, { instance });
  await peer.enter(key, { forge: (proof) => (proof[0] === 'A' ? 'B' : 'A') + proof.slice(1) });
  assert.equal((await peer.refused()).code, 'wrong_proof');
  assert.equal((await at.rest.get('/extensions')).extensions[0].last_refusal.code, 'wrong_proof');

  peer = await Peer.open(at.port);
  peer.hello({ paired: true });
  assert.equal((await peer.refused()).code, 'unknown_instance');
  assert.equal((await at.rest.get('/extensions')).stranger.code, 'unknown_instance');

  for (const [protocol, older] of [[2, 'hub'], [0, 'extension']]) {
    peer = await Peer.open(at.port);
    peer.send('hello', { protocol, version: '9.9.9' });
    const { code, message, hint } = await peer.refused();
    assert.equal(code, 'protocol_version');
    assert.match(message, new RegExp(`protocol 1.*9\\.9\\.9.*protocol ${protocol}; the ${older} is older`));
    assert.ok(hint);
  }
  for (const text of ['nonsense', '[]', '{"method":"proof","params":{"proof":""}}', '{"method":"hello","params":{"protocol":1}}']) {
    peer = await Peer.open(at.port);
    peer.socket.send(text);
    assert.equal((await within(5_000, 'closed', peer.closed)).code, 1002, text);
  }
  peer = await Peer.open(at.port);
  peer.hello({ instance: newInstance() });
  assert.equal((await within(5_000, 'closed', peer.closed)).code, 1002, 'another instance than in the address');
  peer = await Peer.open(at.port);
  peer.send('hello', { protocol: 1, filling: 'x'.repeat(100_000) });
  await within(5_000, 'closed after too much', peer.closed);
}));

test('only our extension may knock', hubOnly, () => withDoor(async (at) => {
  const other = `chrome-extension://${'a'.repeat(32)}`;
  const base = `http://127.0.0.1:${at.port}`;
  const path = `/extension?instance=${newInstance()}`;
  for (const origin of [other, 'null', 'https://evil.test', base, `${ORIGIN}/`]) {
    assert.equal(await refused(at.port, { headers: { origin } }), 403, origin);
    assert.equal((await http(base, path, { headers: { origin } })).status, 403, origin);
  }
  assert.equal(await refused(at.port, { headers: {} }), 403, 'no origin');
  assert.equal((await http(base, path)).status, 403, 'no origin');
  assert.equal(await refused(at.port, { headers: { 'sec-fetch-site': 'none' } }), 403, 'a socket has an origin');
  assert.equal(await refused(at.port, { headers: { origin: ORIGIN, host: `evil.test:${at.port}` } }), 500);
  assert.equal(await refused(at.port, { path: '/extension' }), 400, 'no instance');
  for (const elsewhere of ['/json/version', '/api/status', '/cdp', '/extension/', '/metrics']) {
    assert.equal((await http(base, elsewhere, { headers: { ...at.rest.headers(), origin: ORIGIN } })).status, 403, elsewhere);
  }
  await at.home.json('endpoint', 'second');
  const { port } = (await at.home.status('second')).browser;
  assert.equal(await refused(port), 403, 'not on the port of another browser');

  const told = await http(base, path, { headers: { origin: ORIGIN } });
  assert.deepEqual(told.json(), { bowline: (await at.home.status()).version, protocol: 1 });
  assert.equal(told.headers['access-control-allow-origin'], ORIGIN);
  assert.equal((await http(base, path, { headers: { 'sec-fetch-site': 'none' } })).status, 200, 'an extension with a permission');
}));

test('a second connection of the same installation gets 409, until the first is dead', hubOnly, () => withDoor(async (at) => {
  const peer = await paired(at);
  const base = `http://127.0.0.1:${at.port}`;
  const ask = () => http(base, `/extension?instance=${peer.instance}`, { headers: { origin: ORIGIN } });
  assert.equal(await refused(at.port, { instance: peer.instance }), 409);
  assert.equal((await ask()).status, 409);
  assert.equal(await refused(at.port), 'opened', 'another installation is not concerned');
  peer.lives = false;
  assert.equal((await ask()).status, 200);
  const stranger = await Peer.open(at.port, { instance: peer.instance });
  stranger.hello();
  assert.equal((await stranger.refused()).code, 'not_paired');
  assert.equal(peer.socket.readyState, peer.socket.OPEN, 'one without the key ends nobody\'s connection');
  const next = await Peer.open(at.port, { instance: peer.instance });
  await next.enter(peer.key);
  assert.equal(await next.welcome(), peer.name);
  assert.equal((await within(5_000, 'the dead one gives way', peer.closed)).code, 4409);
  assert.equal((await at.rest.get('/extensions')).extensions[0].connected, true);
  await next.close();
}));

test('a silent extension is let go after 15 s, and pings come every 5 s', { ...hubOnly, timeout: 40_000 }, () => withDoor(async (at) => {
  const [living, silent] = [await paired(at), await paired(at)];
  silent.lives = false;
  const { code } = await within(20_000, 'the silent one closed', silent.closed);
  assert.equal(code, 1008);
  assert.ok(living.pings >= 2, `${living.pings} pings`);
  assert.equal(living.socket.readyState, living.socket.OPEN);
  await living.close();
}));

test('several browsers have several names; forgetting one ends it', hubOnly, () => withDoor(async (at) => {
  const [first, second] = [await paired(at), await paired(at)];
  assert.deepEqual([first.name, second.name], ['chromium', 'chromium-2']);
  assert.equal((await at.home.failure('launch', 'chromium')).code, 'name_taken', 'its name stands for nothing else');
  assert.deepEqual(await at.home.json('extension', 'forget', 'chromium'), { name: 'chromium', forgotten: true });
  assert.equal((await within(5_000, 'the forgotten one closed', first.closed)).code, 4400);
  const again = await Peer.open(at.port, { instance: first.instance });
  again.hello({ paired: true });
  assert.equal((await again.refused()).code, 'unknown_instance');
  assert.ok(!(await at.home.status()).browsers.some(({ name }) => name === 'chromium'));
  assert.equal((await at.home.failure('extension', 'forget', 'chromium')).exit, 6);
  await at.home.json('stop', 'chromium-2', '--forget');
  await within(5_000, 'its key went with it', second.closed);
  assert.deepEqual((await at.rest.get('/extensions')).extensions, []);
}));

test('keys and names survive the hub; a damaged file is set aside', hubOnly, () => withHome(async (home) => {
  let hub = await home.serve();
  let at = { home, hub, port: hub.port, rest: await Rest.of({ home, port: hub.port }) };
  const peer = await paired(at, { name: 'mine' });
  await hub.end();
  assert.equal((await peer.closed).code, 1001);
  hub = await home.serve();
  const back = await Peer.open(hub.port, { instance: peer.instance });
  await back.enter(peer.key);
  assert.equal(await back.welcome(), 'mine');
  await back.close();
  await hub.end();
  const file = join(stateDir(home), 'extensions.json');
  await writeFile(file, '{ half');
  hub = await home.serve();
  at = { rest: await Rest.of({ home, port: hub.port }) };
  assert.deepEqual((await at.rest.get('/extensions')).extensions, []);
  assert.equal(await readFile(join(stateDir(home), 'extensions.damaged'), 'utf8'), '{ half');
}, ENV));

test('a connected extension holds the hub; one that knocks in vain does not', hubOnly, () => withDoor(async (at) => {
  const peer = await paired(at);
  const left = await Promise.race([at.hub.exited.then(() => true), new Promise((resolve) => setTimeout(resolve, 2_500, false))]);
  assert.equal(left, false);
  await peer.close();
  const knocking = setInterval(() => Peer.open(at.port).then((stranger) => stranger.hello(), () => {}), 100);
  await within(10_000, 'the hub leaves when it is alone', at.hub.exited).finally(() => clearInterval(knocking));
}, { BOWLINE_IDLE_TIMEOUT: '500ms' }));

test('the routes want the token', hubOnly, () => withDoor(async (at) => {
  const base = `http://127.0.0.1:${at.port}`;
  for (const [method, path] of [
    ['GET', '/extensions'], ['GET', '/extensions/pairing'], ['POST', '/extensions/pairing'], ['DELETE', '/extensions/pairing'],
    ['POST', '/extensions/pairing/confirm'], ['POST', '/extensions/native'], ['DELETE', '/extensions/chromium'],
  ]) {
    const headers = { 'content-type': 'application/json' };
    assert.equal((await http(base, `/api${path}`, { method, headers, body: '{}' })).status, 401, `${method} ${path}`);
  }
  const form = { ...at.rest.headers(), 'content-type': 'application/x-www-form-urlencoded' };
  assert.equal((await http(base, '/api/extensions/native', { method: 'POST', headers: form, body: 'instance=x' })).status, 415);
  assert.equal((await at.rest.refused('POST', '/extensions/native', { body: { instance: 'short' } })).status, 400);
  assert.equal((await http(base, '/cdp')).status, 401);
  assert.equal((await http(base, '/client-slot')).status, 401);
}));

/** Native messaging: one message to a host, one answer. */
async function native(launcher, origin, message, env) {
  const child = spawn(launcher, [origin], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const text = Buffer.from(JSON.stringify(message));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  child.stdin.on('error', () => {}).end(Buffer.concat([length, text]));
  const chunks = [];
  child.stdout.on('data', (chunk) => chunks.push(chunk));
  const code = await within(20_000, 'the native host ended', new Promise((resolve) => child.on('close', resolve)));
  const out = Buffer.concat(chunks);
  assert.equal(out.readUInt32LE(0), out.length - 4, 'one message and no more');
  return { code, ...JSON.parse(out.subarray(4)) };
}

test('install writes the extension once, and again when it has changed', hubOnly, () => withHome(async (home) => {
  const first = await home.json('extension', 'install');
  assert.equal(first.change, 'new');
  assert.equal(first.path, join(home.data, 'bowline', 'extension'));
  const manifest = JSON.parse(await readFile(join(first.path, 'manifest.json'), 'utf8'));
  assert.equal(manifest.version, first.version);
  assert.match(first.id, /^[a-p]{32}$/);
  assert.equal((await home.json('extension', 'install')).change, 'unchanged');
  await writeFile(join(first.path, 'stale.js'), '//');
  assert.equal((await home.json('extension', 'status')).installed.state, 'different');
  const { stdout } = await home.run(['extension', 'install']);
  assert.match(stdout, /updated/);
  assert.match(stdout, /chrome:\/\/extensions[\s\S]*Load unpacked[\s\S]*bowline extension pair/);
  assert.ok(!await exists(join(first.path, 'stale.js')));
  const status = await home.json('extension', 'status');
  assert.deepEqual([status.installed.state, status.installed.version], ['current', first.version]);
  assert.deepEqual(await readdir(join(home.data, 'bowline')).then((names) => names.filter((name) => name.startsWith('.'))), []);
}, ENV));

test('a data directory that cannot be written is named', hubOnly, () => withHome(async (home) => {
  const file = join(home.root, 'a-file');
  await writeFile(file, '');
  const { code, stdout } = await home.run(['extension', 'install', '--json'], { env: { BOWLINE_DATA_DIR: join(file, 'data') } });
  assert.equal(code, 1);
  assert.match(JSON.parse(stdout).error.hint, /BOWLINE_DATA_DIR/);
  if (process.getuid() !== 0) {
    await mkdir(join(home.data, 'bowline'), { mode: 0o500 });
    assert.equal((await home.failure('extension', 'install')).exit, 1);
    await chmod(join(home.data, 'bowline'), 0o700);
  }
}, ENV));

test('the native host pairs in one step, for our extension alone', hubOnly, () => withHome(async (home) => {
  assert.equal((await home.failure('extension', 'install', '--native')).exit, 3, 'no browser has a profile here');
  await mkdir(join(home.config, 'chromium'));
  const { native: registered } = await home.json('extension', 'install', '--native', '--user-data-dir', join(home.root, 'other'));
  const manifests = registered.manifests.map(({ path }) => path);
  assert.deepEqual(manifests, [
    join(home.config, 'chromium', 'NativeMessagingHosts', 'dev.bowline.hub.json'),
    join(home.root, 'other', 'NativeMessagingHosts', 'dev.bowline.hub.json'),
  ]);
  const manifest = JSON.parse(await readFile(manifests[0], 'utf8'));
  assert.deepEqual([manifest.name, manifest.type], ['dev.bowline.hub', 'stdio']);
  assert.ok(manifest.allowed_origins.includes(`${ORIGIN}/`));
  assert.equal((await stat(manifest.path)).mode & 0o777, 0o700);
  const { token } = JSON.parse(await readFile(join(home.runtime, 'bowline', 'state.json'), 'utf8').catch(() => '{}'));
  assert.equal(token, undefined, 'no hub runs yet');

  const instance = newInstance();
  const ask = { method: 'pair', instance, browser: { name: 'Microsoft Edge', version: '156', userAgent: 'x' } };
  const answer = await native(manifest.path, `${ORIGIN}/`, ask, home.env);
  assert.deepEqual([answer.code, answer.name, Buffer.from(answer.key, 'base64url').length], [0, 'edge', 32]);
  const peer = await Peer.open(answer.port, { instance });
  await peer.enter(answer.key);
  assert.equal(await peer.welcome(), 'edge');
  await peer.close();

  for (const origin of ['chrome-extension://' + 'a'.repeat(32) + '/', 'https://evil.test/', '']) {
    const { error, key } = await native(manifest.path, origin, ask, home.env);
    assert.match(error, /not Bowline's/, origin);
    assert.equal(key, undefined);
  }
  assert.match((await native(manifest.path, `${ORIGIN}/`, { method: 'steal' }, home.env)).error, /no `steal`/);
  assert.match((await native(manifest.path, `${ORIGIN}/`, { method: 'pair', instance: 'x' }, home.env)).error, /instance/);
  await home.json('shutdown');
}, ENV));

test('cdp-url is there while a browser is paired and the hub runs', hubOnly, () => withHome(async (home) => {
  let hub = await home.serve();
  const rest = await Rest.of({ home, port: hub.port });
  const file = join(stateDir(home), 'cdp-url');
  assert.ok(!await exists(file));
  const base = `http://127.0.0.1:${hub.port}`;
  const headers = rest.headers();
  const none = await http(base, '/cdp', { headers });
  assert.equal(none.status, 404);
  assert.match(none.text, /bowline extension install/);
  await rest.post('/extensions/native', { instance: newInstance() });
  assert.equal(await readFile(file, 'utf8'), `ws://127.0.0.1:${hub.port}/cdp?token=${rest.token}\n`);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await http(base, '/cdp', { headers })).status, 200, 'as other sockets: an empty answer to a plain GET');
  assert.equal((await http(base, '/cdp?browser=nobody', { headers })).status, 404);
  await rest.post('/extensions/native', { instance: newInstance() });
  const which = await http(base, '/cdp', { headers });
  assert.equal(which.status, 409, 'two are paired, none is connected');
  assert.match(which.text, /browser, browser-2/);
  assert.equal((await http(base, '/cdp?browser=browser-2', { headers })).status, 200);
  await hub.end();
  assert.ok(!await exists(file), 'removed at a clean end');

  hub = await home.serve();
  assert.ok(await exists(file), 'written again for what is paired');
  const again = await Rest.of({ home, port: hub.port });
  await again.delete('/extensions/browser');
  assert.ok(await exists(file));
  await again.delete('/extensions/browser-2');
  assert.ok(!await exists(file), 'nothing is paired any more');
  await hub.end();
  hub = await home.serve({ env: { BOWLINE_EXTENSION_WRITE_CDP_URL: 'false' } });
  await (await Rest.of({ home, port: hub.port })).post('/extensions/native', { instance: newInstance() });
  assert.ok(!await exists(file), 'not wanted');
}, ENV));

test('a name alone leads to its browser endpoint', hubOnly, () => withDoor(async (at) => {
  for (const path of [`/t/${at.rest.token}/b/default`, `/t/${at.rest.token}/b/default/`, '/b/default', `/cdp?token=${at.rest.token}&browser=default`]) {
    const cdp = await Cdp.connect(`ws://127.0.0.1:${at.port}${path}`);
    assert.match((await cdp.send('Browser.getVersion')).product, /^Chrome\//, path);
    await cdp.close();
  }
}));

test('single-active: the second client gets 409, and the slot tells', hubOnly, () => withDoor(async (at) => {
  const base = `http://127.0.0.1:${at.port}`;
  const slot = async (path = '/client-slot') => (await http(base, path, { headers: at.rest.headers() })).json();
  assert.deepEqual(await slot(), { browser: 'default', mode: 'single-active', busy: false, activeClientId: null, connectedAt: null });
  const first = await Cdp.connect(base, { headers: { 'user-agent': 'first/1.0' } });
  const busy = await slot();
  assert.deepEqual([busy.busy, busy.activeClientId], [true, 'client-1']);
  assert.ok(Math.abs(Date.now() - busy.connectedAt) < 20_000);
  const { status, text } = await Peer.open(at.port, { path: '/devtools/browser', headers: {} }).catch((error) => error);
  assert.equal(status, 409);
  assert.match(text, /client-1 \(first\/1\.0\)/);
  assert.match(text, /cdp\.client_mode/);
  assert.equal((await slot('/b/second/client-slot').catch(() => ({}))).busy, undefined, 'an unknown browser has none');
  await first.close();
  await until('the place is free', async () => !(await slot()).busy);
  const second = await Cdp.connect(base);
  assert.equal((await slot()).activeClientId, 'client-2');
  await second.close();
}, { BOWLINE_CDP_CLIENT_MODE: 'single-active' }));

test('secrets are in no log, no argument and no file name', hubOnly, () => withDoor(async (at) => {
  const peer = await withCode(at);
  await peer.confirm();
  await at.home.json('extension', 'pair', '--code', peer.code);
  await peer.paired();
  const { key } = await at.rest.post('/extensions/native', { instance: newInstance() });
  const log = at.hub.log();
  const commands = at.home.processes().map(({ command }) => command).join('\n');
  const names = (await readdir(at.home.root, { recursive: true })).join('\n');
  for (const secret of [at.rest.token, peer.key, key]) {
    assert.ok(!log.includes(secret) && !commands.includes(secret) && !names.includes(secret));
  }
  assert.match(log, /an extension is connected/);
  for (const file of ['cdp-url', 'extensions.json', 'token']) {
    assert.equal((await stat(join(stateDir(at.home), file))).mode & 0o777, 0o600, file);
  }
  await peer.close();
  await rm(join(stateDir(at.home), 'cdp-url'));
}, { BOWLINE_LOG: 'trace' }));
