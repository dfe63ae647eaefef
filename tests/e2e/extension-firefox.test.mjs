// A person's own Firefox behind the hub's door, with a scripted extension: who may come in, what it is called, who may ask it
// what, and how it is waited for.
import assert from 'node:assert/strict';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent } from './lib/agent.mjs';
import { Bidi } from './lib/bidi.mjs';
import { hubOnly } from './lib/env.mjs';
import { newInstance, Peer } from './lib/extension-peer.mjs';
import { FIREFOX, FirefoxPeer } from './lib/firefox-peer.mjs';
import { withHub } from './lib/life.mjs';
import { Rest } from './lib/rest.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

/** Runs `body` with a hub and its REST API. */
const withDoor = (body, env) => withHub(async ({ home, hub }) =>
  body({ home, hub, port: hub.port, rest: await Rest.of({ home, port: hub.port }) }), env);

/** A Firefox that is paired and connected. */
async function paired({ rest, port }, { instance = newInstance(), name, ...more } = {}) {
  const { key } = await rest.post('/extensions/native', { instance, browser: FIREFOX, name });
  const firefox = await FirefoxPeer.enter(port, { instance, key, ...more });
  Object.assign(firefox, { instance, key });
  await ready({ rest }, firefox.name);
  return firefox;
}

const ready = ({ rest }, name) => until(`${name} is ready`, async () =>
  (await rest.get('/status')).browsers.find((browser) => browser.name === name)?.state === 'ready');

const session = ({ port, rest }, name = 'firefox') => Bidi.session(`ws://127.0.0.1:${port}/t/${rest.token}/b/${name}/session`);

const seen = async (client) => (await client.send('browsingContext.getTree')).contexts.map(({ context }) => context);

const refuses = (promise, words) => assert.rejects(promise, ({ message }) => message.includes(words));

test('a pairing by code: no id is asked for, and the browser is called firefox', hubOnly, () => withDoor(async (at) => {
  await at.home.failure('extension', 'pair');
  for (const origin of ['https://evil.test', 'moz-extension://evil.test', 'null']) {
    assert.equal(await FirefoxPeer.knock(at.port, { origin }).then(() => 'opened', ({ status }) => status), 403, origin);
  }
  const peer = await FirefoxPeer.knock(at.port);
  peer.hello = (more) => Peer.prototype.hello.call(peer, { browser: FIREFOX, speaks: 'bidi', ...more });
  await peer.exchange();
  await until('the hub shows the code', async () => (await at.rest.get('/extensions/pairing')).code === peer.code);
  const command = at.home.json('extension', 'pair', '--code', peer.code);
  await until('the terminal has said yes', async () => (await at.rest.get('/extensions/pairing')).confirmed);
  await peer.confirm();
  assert.equal(await peer.paired(), 'firefox');
  assert.equal((await command).name, 'firefox');
  const { browser } = await at.home.status('firefox');
  assert.deepEqual([browser.backend, browser.protocol, browser.needs_token], ['extension', 'bidi', true]);
  await peer.close();
}));

test('another extension of Firefox, without the key, comes no further than its hello', hubOnly, () => withDoor(async (at) => {
  const instance = newInstance();
  const { key } = await at.rest.post('/extensions/native', { instance, browser: FIREFOX });
  const stranger = await FirefoxPeer.knock(at.port);
  stranger.hello();
  assert.equal((await stranger.refused()).code, 'not_paired');
  const forger = await FirefoxPeer.knock(at.port, { instance });
  await forger.enter(key, { forge: () => Buffer.alloc(32).toString('base64url') });
  assert.equal((await forger.refused()).code, 'wrong_proof');
}));

test('it is driven by ops, by name, and by BiDi clients who have the token', hubOnly, () => withDoor(async (at) => {
  const firefox = await paired(at, { tabs: ['https://one.test/', 'https://two.test/'] });
  assert.equal(firefox.name, 'firefox');
  assert.deepEqual(firefox.asked.slice(0, 2).map(({ method }) => method), ['session.end', 'session.new'], 'what an earlier hub has left is ended');
  const open = `ws://127.0.0.1:${at.port}/b/firefox/session`;
  await assert.rejects(Bidi.connect(open), ({ status }) => status === 401);
  await assert.rejects(Bidi.connect(`${open}?token=wrong`), ({ status }) => status === 401);
  assert.equal((await at.rest.ask('GET', '/status', { headers: { origin: 'moz-extension://7d1a3c52-8d3c-4c7e-9d2b-0a1b2c3d4e5f' } })).status, 403);

  const client = await session(at);
  assert.deepEqual(await seen(client), ['tab-1', 'tab-2']);
  await client.send('session.subscribe', { events: ['browsingContext'] });
  await client.send('browsingContext.navigate', { context: 'tab-1', url: 'https://three.test/', wait: 'complete' });
  assert.equal((await client.event('browsingContext.load')).params.url, 'https://three.test/');
  await assert.rejects(client.send('browser.close'), ({ code }) => code === 'unsupported operation');
  await assert.rejects(client.send('future.command'), ({ code }) => code === 'unknown command');
  await until('the popup is told who drives the tab', () => firefox.drivers.some(({ context, clients }) => context === 'tab-1' && clients.length === 1));

  const agent = new Agent(at.rest, 'a', 'firefox');
  const { tabs } = await agent.op('tabs', {});
  assert.deepEqual(tabs.map(({ url }) => url).sort(), ['https://three.test/', 'https://two.test/']);
  const audit = await readFile(join(at.home.state, 'bowline', 'audit.log'), 'utf8');
  const [line] = audit.trim().split('\n').map((text) => JSON.parse(text));
  assert.deepEqual([line.browser, line.page, line.method, line.to], ['firefox', 'https://one.test/', 'browsingContext.navigate', 'https://three.test/']);

  await client.close();
  await until('nobody drives it any more', () => firefox.drivers.length === 0);
  await at.home.json('stop', 'firefox');
  await until('it is let go, and lives', () => firefox.count('session.end') === 2 && firefox.count('browser.close') === 0);
}));

test('the name firefox: the person\'s own once it is paired, else a launched one, and never both', hubOnly, () => withDoor(async (at) => {
  const firefox = await paired(at);
  const launched = await at.home.json('launch', 'firefox');
  assert.deepEqual([launched.backend, launched.state, launched.pid], ['extension', 'ready', null], 'nothing is launched');
  const taken = await at.home.failure('launch', 'firefox', '--browser', 'firefox');
  assert.equal(taken.code, 'name_taken');
  await firefox.close();
  await at.home.json('extension', 'forget', 'firefox');
  // Made known by somebody who wants to launch it.
  assert.equal((await at.rest.post('/browsers/firefox/define', {})).backend, 'launched');
  const second = await paired(at);
  assert.equal(second.name, 'firefox-2');
  await second.close();
}));

test('the person\'s rules hold: sites, cookies, new tabs, reading, choosing', hubOnly, () => withDoor(async (at) => {
  const firefox = await paired(at, { tabs: ['https://one.test/', 'https://two.test/'], policy: { deny: ['two.test'] } });
  const client = await session(at);
  assert.deepEqual(await seen(client), ['tab-1']);
  await client.send('session.subscribe', { events: ['browsingContext'] });
  await refuses(client.send('browsingContext.navigate', { context: 'tab-1', url: 'https://two.test/' }), 'denied sites');
  await refuses(client.send('browsingContext.activate', { context: 'tab-2' }), 'no such frame');
  await refuses(client.send('storage.getCookies', {}), 'allow cookies');
  const { cookies } = await client.send('storage.getCookies', { partition: { type: 'context', context: 'tab-1' } });
  assert.deepEqual(cookies.map(({ domain }) => domain), ['one.test']);

  firefox.go('tab-1', 'https://two.test/x');
  await client.event('browsingContext.contextDestroyed', ({ context }) => context === 'tab-1');
  assert.deepEqual(await seen(client), []);
  firefox.go('tab-1', 'https://one.test/');
  await until('it is back', async () => (await seen(client)).includes('tab-1'));

  firefox.setPolicy({ deny: [], readOnly: true });
  await until('read-only is in force', () => client.send('browsingContext.reload', { context: 'tab-1' }).then(() => false, ({ message }) => message.includes('(read-only)')));
  assert.equal(await client.evaluate('document.title', 'tab-1'), 'https://one.test/');
  await refuses(client.send('script.evaluate', { expression: 'document.title = 1', target: { context: 'tab-1' }, awaitPromise: false }), '(read-only)');

  firefox.setPolicy({ readOnly: false, noNewTabs: true });
  await until('no new tabs', () => client.send('browsingContext.create', { type: 'tab' }).then(() => false, ({ message }) => message.includes('(no new tabs)')));
  firefox.setPolicy({ noNewTabs: false, mode: 'manual' });
  await until('nothing is chosen', async () => (await seen(client)).length === 0);
  firefox.choose('tab-2', true);
  await until('one is', async () => (await seen(client)).join() === 'tab-2');
  const mine = await client.tab();
  assert.deepEqual((await seen(client)).sort(), [mine, 'tab-2'].sort(), 'and that of an agent');
  firefox.setPolicy({ mode: 'auto', paused: true });
  await until('it is paused', () => client.send('browsingContext.reload', { context: 'tab-2' }).then(() => false, ({ message }) => message.includes('paused')));
  await client.close();
}));

test('lists of sites in the hub\'s configuration hold in it, too', hubOnly, () => withDoor(async (at) => {
  const firefox = await paired(at, { tabs: ['https://one.test/', 'https://two.test/'] });
  const client = await session(at);
  assert.deepEqual(await seen(client), ['tab-1']);
  await refuses(client.send('browsingContext.navigate', { context: 'tab-1', url: 'https://two.test/' }), 'configuration');
  await client.close();
  await firefox.close();
}, { BOWLINE_SITES_DENY: 'two.test' }));

test('a connection that broke: what was asked fails, what is asked waits, and the session goes on', hubOnly, () => withDoor(async (at) => {
  const firefox = await paired(at);
  const { instance, key } = firefox;
  const client = await session(at);
  await client.send('session.subscribe', { events: ['browsingContext', 'log'] });
  firefox.silent.add('browsingContext.reload');
  const lost = assert.rejects(client.send('browsingContext.reload', { context: 'tab-1' }), /connection broke/);
  await firefox.wasAsked('browsingContext.reload');
  firefox.peer.socket.terminate();
  await lost;
  const waits = client.send('browsingContext.activate', { context: 'tab-1' });
  firefox.tabs.set('tab-9', { url: 'https://nine.test/', chosen: false });
  const again = await FirefoxPeer.enter(at.port, { instance, key, session: 'kept', before: firefox });
  await waits;
  assert.equal((await client.event('browsingContext.contextCreated', ({ context }) => context === 'tab-9')).params.url, 'https://nine.test/', 'what came meanwhile is told');
  again.event('log.entryAdded', { source: { context: 'tab-1', realm: 'r' }, type: 'console', level: 'info', text: 'hello' });
  assert.equal((await client.event('log.entryAdded')).params.text, 'hello');
  assert.deepEqual([again.count('session.new'), again.count('session.subscribe')], [0, 0], 'nothing had to be set anew');
  await client.close();
  await again.close();
}));

test('an extension that was restarted begins anew, and so do its clients', hubOnly, () => withDoor(async (at) => {
  const firefox = await paired(at);
  const { instance, key } = firefox;
  const client = await session(at);
  firefox.peer.socket.terminate();
  const fresh = await FirefoxPeer.enter(at.port, { instance, key });
  assert.equal((await within(10_000, 'the hub lets go', fresh.peer.closed)).code, 1013);
  await within(10_000, 'the client is told', client.closed);
  const again = await FirefoxPeer.enter(at.port, { instance, key, tabs: ['https://new.test/'] });
  await again.wasAsked('session.new');
  await ready(at, 'firefox');
  const other = await session(at);
  assert.deepEqual((await other.send('browsingContext.getTree')).contexts.map(({ url }) => url), ['https://new.test/']);
  await other.close();
  await again.close();
}));

test('a hub that is killed and comes back finds it again', hubOnly, () => withDoor(async (at) => {
  const firefox = await paired(at);
  const { instance, key } = firefox;
  await at.hub.kill();
  await within(5_000, 'the socket is closed', firefox.peer.closed);
  const hub = await at.home.serve({ env: { BOWLINE_PORT: String(at.port) } });
  const again = await FirefoxPeer.enter(at.port, { instance, key, session: 'kept', before: firefox });
  assert.equal(again.name, 'firefox');
  const here = { port: at.port, rest: await Rest.of({ home: at.home, port: at.port }) };
  await ready(here, 'firefox');
  assert.deepEqual(again.asked.slice(0, 2).map(({ method }) => method), ['session.end', 'session.new'], 'the session of before is nobody\'s');
  const client = await session(here);
  assert.deepEqual(await seen(client), ['tab-1']);
  await client.close();
  await again.close();
  await hub.end();
}));

test('install --firefox writes a directory and a file, and says how to load them', hubOnly, () => withDoor(async ({ home }) => {
  const first = await home.json('extension', 'install', '--firefox');
  assert.deepEqual([first.package, first.change, first.id], ['firefox', 'new', 'bowline@bowline.dev']);
  const manifest = JSON.parse(await readFile(join(first.path, 'manifest.json'), 'utf8'));
  assert.equal(manifest.browser_specific_settings.gecko.id, first.id);
  const archive = await readFile(first.archive);
  assert.equal(archive.subarray(0, 4).toString('latin1'), 'PK\x03\x04');
  assert.equal((await home.json('extension', 'install', '--firefox')).change, 'unchanged');
  const { stdout } = await home.run(['extension', 'install', '--firefox']);
  for (const words of ['about:debugging', 'xpinstall.signatures.required', first.archive, 'bowline extension pair']) assert.ok(stdout.includes(words), words);
  assert.equal((await home.json('extension', 'status')).installed_for_firefox.state, 'current');
  await assert.rejects(access(join(home.data, 'bowline', 'extension')), 'Chrome\'s is not written by the way');
}));
