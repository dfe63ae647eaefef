// Firefox as Bowline launches it: when it starts, who shares it, how it dies and what it leaves.
import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Bidi } from './lib/bidi.mjs';
import { Cdp } from './lib/cdp.mjs';
import { findFirefox, hubOnly } from './lib/env.mjs';
import { http } from './lib/http.mjs';
import { endpointOf, fakeBrowser, profileOf, withHome, withHub } from './lib/life.mjs';
import { alive, gone, signal } from './lib/processes.mjs';
import { Screen } from './lib/screen.mjs';
import { Site } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const slow = { ...hubOnly, timeout: 90_000 };
/** Chromium stays the browser that is launched where none is named; its flags are not for Firefox. */
const ENV = { BOWLINE_ARGS: '' };
const FIREFOX = hubOnly.skip ? '' : findFirefox();

const exists = (path) => stat(path).then(() => true, () => false);
const session = (hub, name = 'firefox') => `${hub.endpoint.replace('http:', 'ws:')}/b/${name}/session`;

/** `body({home, hub})` with a hub that knows a browser `firefox`, which has not been started. */
const withFirefox = (body) => withHub(async (at) => {
  await endpointOf(at.home, 'firefox');
  await body(at);
}, ENV);

/** With the configuration of a person who has named one. */
const withConfig = (text, body) => withHome(async (home) => {
  await mkdir(join(home.config, 'bowline'), { mode: 0o700 });
  await writeFile(join(home.config, 'bowline', 'config.toml'), text, { mode: 0o600 });
  await body({ home, hub: await home.serve() });
}, ENV);

/** What lies in a home besides the hub's own files. */
async function leftIn(home) {
  const all = await readdir(home.root, { recursive: true, withFileTypes: true });
  const own = /^(run|data|state|config)(\/bowline|$)|^tmp$|^tmp\/bowline-\d+(\/profiles(\/run-\w+(\/lock)?)?)?$/;
  return all.map((entry) => relative(home.root, join(entry.parentPath, entry.name))).filter((path) => !own.test(path));
}

const nothingLeft = async (home) => {
  await until('nothing left', async () => (await leftIn(home)).length === 0, 3_000).catch(() => {});
  assert.deepEqual(await leftIn(home), []);
  assert.deepEqual(home.browsers(), []);
};

test('`bowline launch firefox` launches one, and stop leaves neither a process nor a file', slow, () => withHub(async ({ home, hub }) => {
  const launched = await home.json('launch', 'firefox');
  assert.equal(launched.state, 'ready');
  assert.equal(launched.protocol, 'bidi');
  assert.match(launched.product, /^Firefox\/\d+\./);
  assert.match(launched.ws_endpoint, /^ws:\/\/127\.0\.0\.1:\d+\/session$/);
  assert.equal(await endpointOf(home, 'firefox', '--ws'), launched.ws_endpoint);
  const [browser] = home.browsers();
  const profile = profileOf(browser);
  assert.match(browser.command, / --headless /);
  assert.equal(await exists(join(profile, 'user.js')), true);
  const outside = (await leftIn(home)).map((path) => join(home.root, path)).filter((path) => !path.startsWith(profile));
  assert.deepEqual(outside.filter((path) => !path.endsWith(`${browser.pid}.pid`)), [], 'all that it writes is in its profile');

  const bidi = await Bidi.session(launched.ws_endpoint);
  const tab = await bidi.tab();
  assert.equal(await bidi.evaluate('location.href', tab), 'about:blank');
  const processes = home.processes().map(({ pid }) => pid).filter((pid) => pid !== hub.pid);
  assert.ok(processes.length > 1, 'it has children');
  await home.json('stop', 'firefox');
  const { code, reason } = await within(2_000, 'the client closed', bidi.closed);
  assert.ok([1001, 1011].includes(code), `code ${code}`);
  assert.notEqual(reason, '');
  assert.equal(alive(browser.pid), false);
  // Its crash helper has a group of its own, and ends when it sees that it is alone.
  await until('all its processes gone', () => !processes.some(alive), 3_000);
  await nothingLeft(home);
}, ENV));

test('the first client launches it, and it is one browser for all who come at once', slow, () => withFirefox(async ({ home, hub }) => {
  assert.deepEqual(home.browsers(), [], 'asking for the address launches nothing');
  const clients = await Promise.all(Array.from({ length: 8 }, () => Bidi.session(session(hub))));
  assert.equal(home.browsers().length, 1);
  assert.equal(new Set(clients.map(({ sessionId }) => sessionId)).size, 8, 'each has a session of its own');
  assert.equal(clients[0].capabilities.browserName, 'firefox');
  const { browser } = await home.status('firefox');
  assert.equal(browser.state, 'ready');
  assert.equal(browser.clients, 8);
  await Promise.all(clients.map((client) => client.close()));
}));

test('a browser of the configuration is launched by its first client, on its own port too', slow, () =>
  withConfig(`[browsers.fox]\nbrowser = "${FIREFOX}"\n`, async ({ home, hub }) => {
    const ws = await endpointOf(home, 'fox', '--ws');
    assert.match(ws, /\/session$/, 'before it has ever run');
    const [byPort, byPath] = await Promise.all([Bidi.session(ws), Bidi.session(session(hub, 'fox'))]);
    assert.equal(home.browsers().length, 1);
    const tab = await byPort.tab();
    assert.equal(await byPath.evaluate('6 * 7', tab), 42);
    await Promise.all([byPort.close(), byPath.close()]);
  }));

test('clients of CDP are told where to go', slow, () => withFirefox(async ({ hub }) => {
  for (const path of ['/json/version', '/json/list', '/json/protocol']) {
    const { status, text } = await http(`${hub.endpoint}/b/firefox`, path);
    assert.equal(status, 501, path);
    assert.match(text, /WebDriver BiDi/);
    assert.match(text, /\/b\/firefox\/session/);
  }
  const ws = `${hub.endpoint.replace('http:', 'ws:')}/b/firefox`;
  await assert.rejects(Cdp.connect(ws), { status: 501 });
  await assert.rejects(Bidi.connect(session(hub, 'default')), ({ status, text }) => status === 501 && /CDP/.test(text));
}));

test('a killed Firefox: commands in flight are answered, and the next client has a new one', slow, () => withFirefox(async ({ home, hub }) => {
  const clients = await Promise.all([Bidi.session(session(hub)), Bidi.session(session(hub))]);
  const pending = [];
  for (const client of clients) {
    const tab = await client.tab();
    pending.push(client.evaluate('new Promise(() => {})', tab).then(() => assert.fail('answered'), (error) => error));
    await client.evaluate('1', tab);
  }
  const [{ pid, command }] = home.browsers();
  signal(pid, 'SIGKILL');
  for (const error of await within(5_000, 'every command answered', Promise.all(pending))) {
    assert.equal(typeof error.code, 'string', `an answer, not: ${error.message}`);
  }
  for (const { code, reason } of await within(5_000, 'every socket closed', Promise.all(clients.map((c) => c.closed)))) {
    assert.ok([1001, 1011].includes(code), `code ${code}`);
    assert.match(reason, /killed by signal 9/);
  }
  const again = await Bidi.session(session(hub));
  assert.equal(await again.evaluate('6 * 7', await again.tab()), 42);
  assert.equal(home.browsers().length, 1);
  assert.notEqual(home.browsers()[0].pid, pid);
  assert.equal(await exists(profileOf({ command })), false, 'the profile of the dead one is gone');
  await again.close();
}));

test('a stopped Firefox is noticed and replaced', slow, () => withFirefox(async ({ home, hub }) => {
  const client = await Bidi.session(session(hub));
  const [{ pid }] = home.browsers();
  signal(pid, 'SIGSTOP');
  const { reason } = await within(15_000, 'the client closed', client.closed);
  assert.match(reason, /did not answer/);
  const again = await Bidi.session(session(hub));
  assert.equal(await again.evaluate('6 * 7', await again.tab()), 42);
  await gone(pid);
  assert.equal(home.browsers().length, 1);
  await again.close();
}));

test('browser.close of a client is answered, and the next connection launches again', slow, () => withFirefox(async ({ home, hub }) => {
  const [one, two] = await Promise.all([Bidi.session(session(hub)), Bidi.session(session(hub))]);
  const [{ pid }] = home.browsers();
  assert.deepEqual(await one.send('browser.close'), {});
  await within(5_000, 'both closed', Promise.all([one.closed, two.closed]));
  await gone(pid);
  await until('no crash', async () => (await home.status('firefox')).browser.state === 'stopped', 5_000);
  const again = await Bidi.session(session(hub));
  assert.equal(home.browsers().length, 1);
  await again.close();
}));

test('the hub killed: the next one ends what it left', slow, () => withFirefox(async ({ home, hub }) => {
  await (await Bidi.session(session(hub))).close();
  const [browser] = home.browsers();
  assert.equal(await exists(profileOf(browser)), true);
  await hub.kill();
  const next = await home.serve();
  await gone(browser.pid);
  await nothingLeft(home);
  const again = await Bidi.session(session(next));
  assert.notEqual(home.browsers()[0].pid, browser.pid);
  await again.close();
}));

test('a kept profile keeps its cookies, wants the token, and is not opened twice', slow, async () => {
  const site = await Site.start();
  try {
    await withHub(async ({ home }) => {
      await home.json('launch', 'firefox', '--profile', 'knots');
      const ws = await endpointOf(home, 'firefox', '--ws');
      assert.match(ws, /\/t\/[^/]+\/session$/);
      await assert.rejects(Bidi.connect(ws.replace(/\/t\/[^/]+/, '')), { status: 401 });
      const bidi = await Bidi.session(ws);
      await bidi.evaluate('document.cookie = "knot=bowline; max-age=3600"', await bidi.tab(site.url('/kept')));
      await withHome(async (other) => {
        await other.serve();
        const error = await other.failure('launch', 'firefox', '--profile', 'knots');
        assert.equal(error.code, 'profile_locked');
      }, { ...ENV, XDG_DATA_HOME: home.data });
      await home.json('stop', 'firefox');
      await home.json('launch', 'firefox');
      const again = await Bidi.session(ws);
      assert.equal(await again.evaluate('document.cookie', await again.tab(site.url('/kept'))), 'knot=bowline');
      await again.close();
    }, ENV);
  } finally {
    await site.stop();
  }
});

test('it looks up no name by itself', slow, () => withHome(async (home) => {
  const log = join(home.root, 'firefox-log');
  Object.assign(home.env, { MOZ_LOG: 'nsHostResolver:5,sync', MOZ_LOG_FILE: log });
  const hub = await home.serve();
  const site = await Site.start();
  try {
    await endpointOf(home, 'firefox');
    const bidi = await Bidi.session(session(hub));
    await bidi.tab(site.url('/two').replace('127.0.0.1', 'localhost'));
    await home.json('stop', 'firefox');
    const files = (await readdir(home.root)).filter((name) => name.startsWith('firefox-log'));
    const texts = await Promise.all(files.map((name) => readFile(join(home.root, name), 'latin1')));
    const names = [...texts.join('').matchAll(/Resolving host \[([^\]]*)\]/g)].map(([, name]) => name);
    assert.deepEqual([...new Set(names)].filter((name) => name !== '127.0.0.1'), ['localhost']);
  } finally {
    await site.stop();
  }
}, ENV));

test('with a window it shows one on the screen of whoever asked', slow, () => withHub(async ({ home }) => {
  const screen = await Screen.start(home.tmp);
  try {
    const { code, stdout } = await home.run(['launch', 'firefox', '--headed', '--json'], { env: screen.env });
    assert.equal(code, 0, stdout);
    const [browser] = home.browsers();
    assert.doesNotMatch(browser.command, /--headless/);
    const bidi = await Bidi.session(await endpointOf(home, 'firefox', '--ws'));
    assert.equal(bidi.capabilities['moz:headless'], false);
    const tab = await bidi.tab();
    assert.ok(await bidi.evaluate('window.outerHeight > window.innerHeight', tab), 'it has a frame');
    const { contexts } = await bidi.send('browsingContext.getTree', {});
    assert.deepEqual(new Set(contexts.map(({ url }) => url)), new Set(['about:blank']), 'no page of its own');
    await bidi.close();
    await home.json('stop', 'firefox');
    assert.equal(await exists(profileOf(browser)), false);
  } finally {
    screen.stop();
  }
}, ENV));

test('a Firefox that does not start says why', slow, () => withHub(async ({ home }) => {
  const { path } = await fakeBrowser(home, 'echo "Firefox is already running, but is not responding." >&2; exit 0');
  const named = join(home.root, 'fake-firefox');
  await rename(path, named);
  assert.equal((await home.failure('launch', 'one', '--browser', named)).code, 'profile_locked');
  const refused = await home.failure('launch', 'firefox', '--', '--profile', '/tmp/elsewhere');
  assert.equal(refused.code, 'bad_profile');
  const unknown = await home.failure('launch', 'firefox-nightly');
  assert.match(unknown.hint, /firefox-esr|firefox/);
}, ENV));
