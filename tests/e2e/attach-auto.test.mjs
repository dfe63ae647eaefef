// `bowline attach --auto`: a browser that its user runs is found through its profile directory.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Cdp } from './lib/cdp.mjs';
import { Chromium } from './lib/chromium.mjs';
import { hubOnly } from './lib/env.mjs';
import { http } from './lib/http.mjs';
import { endpointOf, freePort, withHub } from './lib/life.mjs';
import { alive } from './lib/processes.mjs';
import { test } from './lib/test.mjs';
import { timed, within } from './lib/until.mjs';

const THINKS = 2_000;

async function withChromium(options, body) {
  const plain = await Chromium.start(options);
  try {
    return await body(plain);
  } finally {
    await plain.stop();
  }
}

/** What a browser writes into its profile when it listens. */
async function writeActivePort(home, kind, text) {
  const dir = join(home.config, kind);
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'DevToolsActivePort'), text);
}

/** Opens a page through the endpoint and sees it in the browser itself. */
async function drives(home, plain, name = 'default') {
  const cdp = await Cdp.connect(await endpointOf(home, name));
  const { targetId, sessionId } = await cdp.page();
  assert.equal(await cdp.evaluate('6 * 7', sessionId), 42);
  const list = (await http(plain.endpoint, '/json/list')).json();
  assert.ok(list.some(({ id }) => id === targetId), 'it is the same browser');
  return cdp;
}

/** A server on a port of its own; `upgrade(request, socket, head)` answers WebSockets. */
async function withServer(answer, upgrade, body) {
  const server = createServer(answer).on('upgrade', upgrade);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await body(server.address().port);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** As Chrome does it whose user switched debugging on: no /json, and a socket once he has agreed. */
function consentMode(plain, agrees) {
  const asked = [];
  const answer = (request, response) => {
    asked.push(request.url);
    response.writeHead(404).end();
  };
  const upgrade = async (request, socket, head) => {
    asked.push(request.url);
    socket.on('error', () => {});
    if (!(await agrees())) return void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
    const there = connect(plain.port, '127.0.0.1').on('error', () => socket.destroy());
    const headers = request.rawHeaders.reduce((text, word, i) => text + word + (i % 2 ? '\r\n' : ': '), '');
    there.write(`GET ${request.url} HTTP/1.1\r\n${headers}\r\n`);
    there.write(head);
    socket.pipe(there).pipe(socket).on('close', () => there.destroy());
  };
  return { asked, answer, upgrade };
}

test('a Chromium in the usual place is found, driven with the token, and never ended', hubOnly, () => withHub(({ home, hub }) =>
  withChromium({ profile: join(home.config, 'chromium') }, async (plain) => {
    const { code, stdout, stderr } = await home.run(['attach', '--auto']);
    assert.equal(code, 0, stderr);
    assert.match(stderr, new RegExp(`Chromium.*${plain.port}`), 'says what it found');
    assert.match(stdout, /default is ready/);
    const { browser } = await home.status();
    assert.deepEqual([browser.backend, browser.state, browser.needs_token], ['attached', 'ready', true]);
    assert.equal((await http(hub.endpoint, '/json/version')).status, 401, 'a user\'s own browser wants the token');
    const cdp = await drives(home, plain);
    await home.json('attach', 'mine', '--auto');
    const mine = await drives(home, plain, 'mine');
    await home.json('stop', 'mine');
    await within(5_000, 'its clients told', mine.closed);
    assert.ok((await cdp.send('Browser.getVersion')).product, 'the other name is not touched');
    await home.json('shutdown');
    assert.equal(alive(plain.pid), true);
  })));

test('without a running browser the error says how to switch debugging on', hubOnly, () => withHub(async ({ home }) => {
  const error = await home.failure('attach', '--auto');
  assert.deepEqual([error.code, error.exit], ['none_running', 4]);
  assert.match(error.hint, /chrome:\/\/inspect/);
  assert.match(error.hint, /--remote-debugging-port/);
  assert.equal((await home.status()).browser.backend, 'launched', 'nothing has changed');
}));

test('a stale DevToolsActivePort is skipped, also when it is the only one', hubOnly, () => withHub(async ({ home }) => {
  await writeActivePort(home, 'google-chrome', `${await freePort()}\n/devtools/browser/gone\n`);
  await writeActivePort(home, 'microsoft-edge', 'garbage');
  assert.equal((await home.failure('attach', '--auto')).code, 'none_running');
  await withChromium({ profile: join(home.config, 'chromium') }, async (plain) => {
    await home.json('attach', '--auto');
    await (await drives(home, plain)).close();
  });
}));

test('a stale DevToolsActivePort whose port is another program\'s now is skipped', hubOnly, () => withHub(({ home }) =>
  withServer((_, response) => response.writeHead(200).end('a web site'), (_, socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), async (port) => {
    await writeActivePort(home, 'google-chrome', `${port}\n/devtools/browser/gone\n`);
    await withChromium({ profile: join(home.config, 'chromium') }, async (plain) => {
      await home.json('attach', '--auto');
      await (await drives(home, plain)).close();
    });
  })));

test('consent mode: the connection waits until the user has agreed', hubOnly, () => withChromium({}, (plain) => {
  // The first time the user thinks it over.
  let thinks = THINKS;
  const chrome = consentMode(plain, () => new Promise((resolve) => {
    setTimeout(resolve, thinks, true);
    thinks = 0;
  }));
  return withServer(chrome.answer, chrome.upgrade, (port) => withHub(async ({ home }) => {
    const path = new URL(plain.ws).pathname;
    await writeActivePort(home, 'google-chrome', `${port}\n${path}`);
    const { value, ms } = await timed(() => home.run(['attach', '--auto']));
    assert.equal(value.code, 0, value.stderr);
    assert.ok(ms >= THINKS, `${ms} ms`);
    assert.match(value.stderr, /allow/, 'the user is told to agree');
    await (await drives(home, plain)).close();
    assert.equal(chrome.asked.filter((url) => url === path).length, 1, 'and is asked once only');
    const { ws_endpoint: ws } = (await home.status()).browser;
    assert.ok(ws.includes('/t/'));
    // By its port it is found as well, through the file.
    await home.json('attach', 'by-port', `127.0.0.1:${port}`);
    await (await drives(home, plain, 'by-port')).close();
  }));
}));

test('consent mode: a user who does not agree is an error with a hint', hubOnly, () => withChromium({}, (plain) => {
  const chrome = consentMode(plain, () => false);
  return withServer(chrome.answer, chrome.upgrade, (port) => withHub(async ({ home }) => {
    await writeActivePort(home, 'google-chrome', `${port}\n${new URL(plain.ws).pathname}`);
    const error = await home.failure('attach', '--auto');
    assert.deepEqual([error.code, error.exit], ['refused', 4]);
    assert.match(error.hint, /allow/);
  }));
}));

test('a browser that comes back on another port is reached by the next connection', { ...hubOnly, timeout: 60_000 }, () => withHub(async ({ home }) => {
  const profile = join(home.config, 'chromium');
  const endpoint = await withChromium({ profile }, async (first) => {
    await home.json('attach', '--auto');
    const cdp = await drives(home, first);
    await first.stop();
    assert.notEqual((await within(5_000, 'the client told', cdp.closed)).reason, '');
    return endpointOf(home);
  });
  // While it is away there is an error, not a launch in its place.
  const { status, text } = await http(endpoint, '/json/version');
  assert.ok(status >= 500, `${status}`);
  assert.match(text, /Hint: /);
  await withChromium({ profile }, async (second) => {
    assert.equal(Number((await readFile(join(profile, 'DevToolsActivePort'), 'utf8')).split('\n')[0]), second.port);
    await (await drives(home, second)).close();
    assert.equal(await endpointOf(home), endpoint);
  });
}));
