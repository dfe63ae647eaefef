// Rude clients, adopted processes, other people's browsers: none may harm the hub, nor it them.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { Cdp } from './lib/cdp.mjs';
import { Chromium } from './lib/chromium.mjs';
import { hubOnly } from './lib/env.mjs';
import { browserWs } from './lib/http.mjs';
import { endpointOf, withHub } from './lib/life.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

/** A socket on which `text` has been sent. */
function open(port, text) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text, () => resolve(socket)));
    socket.on('error', reject);
  });
}

const handshake = (url) => {
  const { host, pathname } = new URL(url);
  return `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`
    + 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
};

test('clients that hang up in mid-handshake leave nothing behind', hubOnly, () => withHub(async ({ home, hub }) => {
  const url = await browserWs(hub.endpoint);
  for (let round = 0; round < 10; round++) {
    const sockets = await Promise.all(Array.from({ length: 30 }, () => open(hub.port, handshake(url))));
    // Some before, some during, some after the browser has made their sessions.
    await Promise.all(sockets.map((socket, index) => new Promise((resolve) => {
      setTimeout(() => resolve(socket.destroy()), index % 12);
    })));
  }
  await until('no client is left', async () => (await home.status()).browser.clients === 0);
  const cdp = await Cdp.connect(url);
  assert.equal((await home.status()).browser.clients, 1);
  await cdp.close();
}));

test('a request that is never finished does not keep the hub from leaving', hubOnly, () => withHub(async ({ hub }) => {
  const socket = await open(hub.port, 'GET /json/version HTTP/1.1\r\nHost: 127.');
  const { code } = await hub.end(8_000);
  assert.equal(code, 0);
  socket.destroy();
}));

test('commands for ended sessions never disturb other clients', hubOnly, () => withHub(async ({ hub }) => {
  const rude = await Cdp.connect(hub.endpoint);
  const { sessionId } = await rude.page();
  await rude.send('Target.detachFromTarget', { sessionId });
  const lists = [];
  for (let round = 0; round < 20; round++) {
    for (let id = 1; id <= 20; id++) {
      rude.socket.send(JSON.stringify({ id: 5_000 + id, method: 'Runtime.evaluate', params: { expression: '1' }, sessionId }));
    }
    lists.push(fetch(`${hub.endpoint}/json/list`).then((answer) => answer.status));
  }
  assert.deepEqual([...new Set(await Promise.all(lists))], [200]);
  await rude.close();
}));

test('no dead process stays with the hub', hubOnly, () => withHub(async ({ home, hub }) => {
  for (let run = 0; run < 4; run++) {
    await home.json('launch');
    await home.json('stop');
  }
  const dead = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      const [, state, parent] = /\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
      return state === 'Z' && Number(parent) === hub.pid;
    } catch {
      return false;
    }
  });
  // The crash handlers of the last run may just be ending.
  assert.ok(dead.length <= 2, `${dead.length} dead processes`);
}));

test('somebody else\'s browser cannot be closed through the hub', hubOnly, () => withHub(async ({ home }) => {
  const plain = await Chromium.start();
  try {
    await home.json('attach', 'theirs', `127.0.0.1:${plain.port}`);
    const cdp = await Cdp.connect(await endpointOf(home, 'theirs', '--ws'));
    for (const method of ['Browser.close', 'Browser.crash']) {
      await assert.rejects(cdp.send(method), /somebody else/);
    }
    assert.match((await within(5_000, 'an answer', cdp.send('Browser.getVersion'))).product, /Chrome/);
    await cdp.close();
  } finally {
    await plain.stop();
  }
}));

test('a directory of one\'s own cannot pass for a throw-away profile', hubOnly, () => withHub(async ({ home }) => {
  const error = await home.failure('launch', '--', `--user-data-dir=${home.root}/mine`);
  assert.match(`${error.message} ${error.hint}`, /--profile/);
}));

test('a launch that cannot work leaves the running browser alone', hubOnly, () => withHub(async ({ home, hub }) => {
  const cdp = await Cdp.connect(hub.endpoint);
  const { pid } = (await home.status()).browser;
  await home.failure('launch', '--browser', '/nowhere/browser');
  await home.failure('attach', '127.0.0.1:1');
  assert.match((await cdp.send('Browser.getVersion')).product, /Chrome/);
  assert.equal((await home.status()).browser.pid, pid);
  await cdp.close();
}));
