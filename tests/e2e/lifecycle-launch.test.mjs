// When a browser starts, where it stays, and how it stops.
import assert from 'node:assert/strict';
import { chmod, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import WebSocket from 'ws';
import { Cdp } from './lib/cdp.mjs';
import { CHROMIUM, hubOnly } from './lib/env.mjs';
import { browserWs, getJson, http } from './lib/http.mjs';
import { endpointOf, profileOf, withHub } from './lib/life.mjs';
import { alive, gone } from './lib/processes.mjs';
import { Site } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { within } from './lib/until.mjs';

const exists = (path) => stat(path).then(() => true, () => false);

/** A WebSocket handshake that must be refused; its HTTP status. */
const refused = (url, options) => new Promise((resolve, reject) => {
  const socket = new WebSocket(url, options);
  socket.on('unexpected-response', (_, res) => resolve(res.statusCode));
  socket.on('open', () => reject(new Error(`${url} was opened`)));
  socket.on('error', () => {});
});

test('nothing but a valid request launches', hubOnly, () => withHub(async ({ home, hub }) => {
  const ws = await endpointOf(home, '--ws');
  const none = async (after) => {
    assert.equal((await home.status()).browser?.state ?? 'absent', 'absent', after);
    assert.deepEqual(home.browsers(), [], after);
  };
  await none('the start');

  const bare = connect(hub.port, '127.0.0.1');
  await new Promise((resolve) => bare.on('connect', resolve));
  await none('a bare TCP connect');
  bare.destroy();

  assert.equal((await http(hub.endpoint, '/healthz')).status, 200);
  await none('/healthz');

  const { port } = hub;
  for (const host of ['evil.example', `evil.example:${port}`, '10.1.2.3', `127.0.0.1.evil.example:${port}`, `127.0.0.1:${port + 1}`]) {
    assert.ok((await http(hub.endpoint, '/json/version', { headers: { host } })).status >= 400, host);
    assert.ok((await refused(ws, { headers: { host } })) >= 400, host);
    await none(`Host ${host}`);
  }
  for (const origin of ['http://evil.example', 'https://evil.example', `http://localhost:${port + 1}`, 'null']) {
    assert.ok((await http(hub.endpoint, '/json/version', { headers: { origin } })).status >= 400, origin);
    assert.ok((await refused(ws, { origin })) >= 400, origin);
    await none(`Origin ${origin}`);
  }
  assert.equal((await http(hub.endpoint, '/nope')).status, 404);
  await none('an unknown path');

  assert.equal((await http(hub.endpoint, '/json/version')).status, 200);
  assert.equal((await home.status()).browser.state, 'ready');
  assert.equal(home.browsers().length, 1);
}));

for (const path of ['/json/version', '/json/list', '/json', '/json/version/']) {
  test(`GET ${path} launches`, hubOnly, () => withHub(async ({ home, hub }) => {
    assert.equal((await http(hub.endpoint, path)).status, 200);
    assert.equal(home.browsers().length, 1);
  }));
}

test('a WebSocket on the printed address launches', hubOnly, () => withHub(async ({ home }) => {
  const ws = await endpointOf(home, '--ws');
  assert.deepEqual(home.browsers(), []);
  const cdp = await Cdp.connect(ws);
  assert.ok((await cdp.send('Browser.getVersion')).product);
  await cdp.close();
}));

test('twenty clients at once launch one browser', hubOnly, () => withHub(async ({ home, hub }) => {
  const ws = await endpointOf(home, '--ws');
  const answers = await Promise.all(Array.from({ length: 20 }, async (_, i) => {
    if (i % 2) return (await getJson(hub.endpoint, '/json/version')).webSocketDebuggerUrl;
    const cdp = await Cdp.connect(ws);
    await cdp.send('Browser.getVersion');
    await cdp.close();
    return ws;
  }));
  assert.equal(new Set(answers).size, 1);
  assert.equal(home.browsers().length, 1);
}));

test('stop ends the browser and deletes its temporary profile', hubOnly, () => withHub(async ({ home, hub }) => {
  const cdp = await Cdp.connect(hub.endpoint);
  const [browser] = home.browsers();
  const profile = profileOf(browser);
  assert.equal(await exists(profile), true);
  await home.json('stop');
  assert.equal(alive(browser.pid), false);
  assert.equal(await exists(profile), false);
  assert.deepEqual(home.browsers(), []);
  const { code, reason } = await within(2_000, 'the client closed', cdp.closed);
  assert.ok([1001, 1011].includes(code), `code ${code}`);
  assert.notEqual(reason, '');
  await home.json('launch');
  assert.equal(await browserWs(hub.endpoint), cdp.url, 'the address is as before');
}));

test('restart gives a new process behind the same addresses', hubOnly, () => withHub(async ({ home, hub }) => {
  const cdp = await Cdp.connect(hub.endpoint);
  const playwright = await chromium.connectOverCDP(hub.endpoint);
  const disconnected = new Promise((resolve) => playwright.on('disconnected', resolve));
  const { pid } = (await home.status()).browser;
  await home.json('restart');
  const closed = await within(2_000, 'the client closed', cdp.closed);
  assert.ok([1001, 1011].includes(closed.code), `code ${closed.code}`);
  assert.notEqual(closed.reason, '');
  await within(2_000, 'Playwright disconnected', disconnected);
  assert.equal(alive(pid), false);
  const after = await home.status();
  assert.equal(after.browser.state, 'ready');
  assert.notEqual(after.browser.pid, pid);
  const again = await Cdp.connect(cdp.url);
  assert.ok((await again.send('Browser.getVersion')).product);
  assert.equal(await browserWs(hub.endpoint), cdp.url);
  assert.equal(home.browsers().length, 1);
  await again.close();
}));

test('a switch to another browser closes clients and keeps the port', hubOnly, () => withHub(async ({ home, hub }) => {
  const other = join(home.root, 'other-browser');
  await writeFile(other, `#!/bin/sh\nexec "${CHROMIUM}" --e2e-switched "$@"\n`);
  await chmod(other, 0o755);
  const cdp = await Cdp.connect(hub.endpoint);
  const [before] = home.browsers();
  await home.json('launch', 'default', '--browser', other);
  await within(5_000, 'the client closed', cdp.closed);
  await gone(before.pid);
  const again = await Cdp.connect(cdp.url);
  assert.match(home.browsers()[0].command, /--e2e-switched/);
  assert.equal(home.browsers().length, 1);
  await again.close();
}));

test('flags after -- reach the browser', hubOnly, () => withHub(async ({ home }) => {
  await home.json('launch', 'flags', '--', '--e2e-flag=knot', '--window-size=321,654');
  assert.match(home.browsers()[0].command, /--e2e-flag=knot/);
  assert.match(home.browsers()[0].command, /--remote-debugging-pipe/);
}));

test('named browsers have ports and processes of their own, also below /b/NAME', hubOnly, async () => {
  const site = await Site.start();
  try {
    await withHub(async ({ home, hub }) => {
      const work = await endpointOf(home, 'work');
      assert.notEqual(new URL(work).port, String(hub.port));
      assert.deepEqual(home.browsers(), [], 'asking for the address launches nothing');
      const [one, two] = await Promise.all([Cdp.connect(hub.endpoint), Cdp.connect(work)]);
      assert.equal(home.browsers().length, 2);
      const { targetId } = await two.send('Target.createTarget', { url: site.url('/two') });
      const ids = async (base) => (await getJson(base, '/json/list')).map(({ id }) => id);
      assert.equal((await ids(work)).includes(targetId), true);
      assert.equal((await ids(`${hub.endpoint}/b/work`)).includes(targetId), true);
      assert.equal((await ids(hub.endpoint)).includes(targetId), false);
      const byPath = await Cdp.connect(`${hub.endpoint}/b/work`);
      assert.ok((await byPath.send('Target.getTargetInfo', { targetId })).targetInfo);
      await home.json('stop', 'work');
      assert.equal(home.browsers().length, 1);
      assert.ok((await one.send('Browser.getVersion')).product, 'the other browser goes on');
      await Promise.all([one, two, byPath].map((client) => client.close()));
    });
  } finally {
    await site.stop();
  }
});
