// The security matrix around a person's own browser: every route against whoever must not get in, from raw sockets and from
// real pages, what sits on the hub's port, and where the secrets are.
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join, relative } from 'node:path';
import { chromium } from 'playwright-core';
import WebSocket, { WebSocketServer } from 'ws';
import { Cdp } from './lib/cdp.mjs';
import { DIRECT, hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { http } from './lib/http.mjs';
import { withHub } from './lib/life.mjs';
import { Own } from './lib/own.mjs';
import { EXTENSION_ID, EXTENSION_ORIGIN, inWorker, openPopup, Sight } from './lib/person.mjs';
import { Rest } from './lib/rest.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const OTHER_EXTENSION = `chrome-extension://${'a'.repeat(32)}`;

const at = fixture({
  target: false,
  async open(here) {
    if (DIRECT) return;
    here.own = await Own.start({ pages: [here.site.url('/')] });
    const { own } = here;
    here.port = own.hub.port;
    here.base = `http://127.0.0.1:${here.port}`;
    here.token = own.rest.token;
    here.key = JSON.parse(await readFile(join(own.extension, 'preset.json'), 'utf8')).key;
    here.wrong = { none: undefined, empty: '', truncated: here.token.slice(0, -1), longer: `${here.token}A`, otherCase: swapCase(here.token), zeros: 'A'.repeat(here.token.length) };
  },
  close: ({ own }) => own?.stop(),
});

const swapCase = (text) => [...text].map((letter) => (letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase())).join('');
const json = { 'content-type': 'application/json' };

/**
 * What the hub's port answers: [method, path, {open: nobody needs a token, socket, body}]. The person's browser is asked for by name;
 * a route without one leads to a throw-away browser, which would be launched.
 */
const routes = () => {
  const name = at.own.name;
  return [
    ['GET', '/healthz', { open: true }],
    ['GET', '/metrics', {}],
    ['GET', '/json/version', { open: true }],
    ['GET', '/json/list', { open: true }],
    ['GET', '/json/protocol', { open: true }],
    ['PUT', '/json/new?about:blank', { open: true }],
    ['GET', '/devtools/browser', { open: true, socket: true }],
    ['GET', '/devtools/page/X', { open: true, socket: true }],
    ['GET', `/b/${name}/json/version`, {}],
    ['GET', `/b/${name}/json/list`, {}],
    ['PUT', `/b/${name}/json/new?about:blank`, {}],
    ['GET', `/b/${name}/json/close/X`, {}],
    ['GET', `/b/${name}/json/activate/X`, {}],
    ['GET', `/b/${name}`, { socket: true }],
    ['GET', `/b/${name}/devtools/browser`, { socket: true }],
    ['GET', `/b/${name}/devtools/page/X`, { socket: true }],
    ['GET', '/cdp', { socket: true }],
    ['GET', '/client-slot', {}],
    ['GET', `/b/${name}/client-slot`, {}],
    ['GET', '/api/status', {}],
    ['GET', '/api/openapi.json', {}],
    ['GET', '/api/hold', {}],
    ['GET', `/api/browsers/${name}/tabs`, {}],
    ['POST', `/api/browsers/${name}/execute`, { body: '{}' }],
    ['POST', `/api/browsers/${name}/stop`, { body: '{}' }],
    ['POST', '/api/browsers/default/launch', { body: '{}' }],
    ['POST', '/api/shutdown', { body: '{}' }],
    ['GET', '/api/extensions', {}],
    ['GET', '/api/extensions/pairing', {}],
    ['POST', '/api/extensions/pairing', { body: '{}' }],
    ['DELETE', '/api/extensions/pairing', {}],
    ['POST', '/api/extensions/pairing/confirm', { body: '{"code":"000000"}' }],
    ['POST', '/api/extensions/native', { body: '{"instance":"00112233445566778899aabbccddeeff"}' }],
    ['DELETE', `/api/extensions/${name}`, {}],
  ];
};

const UPGRADE = {
  connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** The status of a request, as a plain one and, where there is a socket, as an upgrade. */
async function statuses([method, path, { socket, body }], headers) {
  const ask = (more) => http(at.base, path, { method, headers: { ...(body && json), ...headers, ...more }, body });
  const plain = (await ask({})).status;
  return socket ? [plain, await upgradeStatus(path, headers)] : [plain];
}

/** 101 if the socket would open. */
async function upgradeStatus(path, headers) {
  const lines = Object.entries({ host: `127.0.0.1:${at.port}`, ...UPGRADE, ...headers }).map(([name, value]) => `${name}: ${value}`);
  const socket = connect(at.port, '127.0.0.1', () => socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`));
  const answer = new Promise((resolve, reject) => socket.once('data', resolve).on('error', reject));
  try {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(await within(10_000, `upgrade of ${path}`, answer))?.[1]);
  } finally {
    socket.destroy();
  }
}

const bearer = () => ({ authorization: `Bearer ${at.token}` });

/** What an intruder could have changed. */
async function effects() {
  const [{ browsers }, extensions, pairing] = [await at.own.rest.get('/status'), await at.own.rest.get('/extensions'), await at.own.rest.get('/extensions/pairing')];
  const { targetInfos } = await at.own.pipe.send('Target.getTargets');
  return {
    browsers: browsers.map(({ name, state, clients }) => `${name} ${state} ${clients}`),
    extensions: extensions.extensions.map(({ name, instance, connected }) => `${name} ${instance} ${connected}`),
    pairing: pairing.state,
    pages: targetInfos.filter(({ type }) => type === 'page').map(({ targetId }) => targetId).sort(),
  };
}

/** Runs `body`, after which everything is as it was. */
async function withoutEffect(body) {
  const before = await effects();
  await body();
  await until('no client is left', async () => (await at.own.rest.get('/status')).browsers.every(({ clients }) => clients === 0));
  assert.deepEqual(await effects(), before);
}

test('a wrong Host is refused on every route, whatever else is right', hubOnly, () => withoutEffect(async () => {
  const hosts = [`evil.test:${at.port}`, '127.0.0.1', `127.0.0.1:${at.port + 1}`, `127.0.0.1.evil.test:${at.port}`, `localhost.:${at.port}`, `0.0.0.0:${at.port}`, `127.1:${at.port}`, `2130706433:${at.port}`];
  for (const route of [...routes(), ['GET', '/', {}], ['GET', `/t/${at.token}/b/${at.own.name}`, { socket: true }]]) {
    for (const host of hosts) {
      for (const status of await statuses(route, { ...bearer(), host })) assert.equal(status, 500, `${route[0]} ${route[1]} of ${host}`);
    }
  }
  for (const host of hosts) {
    for (const status of await statuses(['GET', `/extension?instance=${at.own.instance}`, { socket: true }], { origin: EXTENSION_ORIGIN, host })) assert.equal(status, 500, host);
  }
}));

test('a foreign Origin is refused on every route, whatever else is right', hubOnly, () => withoutEffect(async () => {
  const origins = ['http://evil.test', 'https://evil.test', 'null', at.site.origin, `https://127.0.0.1:${at.port}`, OTHER_EXTENSION, EXTENSION_ORIGIN, 'file://', 'devtools://devtools', ''];
  for (const route of [...routes(), ['GET', '/', {}], ['GET', `/t/${at.token}/b/${at.own.name}`, { socket: true }], ['GET', '/no-such-path', {}]]) {
    for (const origin of origins) {
      for (const status of await statuses(route, { ...bearer(), origin })) assert.equal(status, 403, `${route[0]} ${route[1]} from ${origin}`);
    }
    for (const site of ['cross-site', 'same-site', 'nonsense']) {
      for (const status of await statuses(route, { ...bearer(), 'sec-fetch-site': site })) assert.equal(status, 403, `${route[0]} ${route[1]} from ${site}`);
    }
  }
  const door = ['GET', `/extension?instance=${at.own.instance}`, { socket: true }];
  for (const origin of [...origins.filter((origin) => origin !== EXTENSION_ORIGIN), at.base, `${EXTENSION_ORIGIN}/`, EXTENSION_ORIGIN.slice(0, -1), EXTENSION_ORIGIN.toUpperCase()]) {
    for (const status of await statuses(door, { ...bearer(), origin })) assert.equal(status, 403, `the extension's door from ${origin}`);
  }
  for (const status of await statuses(door, bearer())) assert.equal(status, 403, 'the token is no way through the extension\'s door');
}));

test('without the right token nothing of the person\'s is answered, wherever a wrong one stands', hubOnly, () => withoutEffect(async () => {
  for (const route of routes().filter(([, , { open }]) => !open)) {
    const [method, path, more] = route;
    for (const [what, wrong] of Object.entries(at.wrong)) {
      const ways = [
        [path, wrong === undefined ? {} : { authorization: `Bearer ${wrong}` }],
        ...(wrong === undefined ? [] : [
          [`${path}${path.includes('?') ? '&' : '?'}token=${wrong}`, {}],
          [path, { 'sec-websocket-protocol': `bowline.token.${wrong}` }],
          [path, { authorization: `Basic ${at.token}` }],
          ...(path.startsWith('/api') || path === '/metrics' ? [] : [[`/t/${wrong}${path}`, {}]]),
        ]),
      ];
      for (const [place, headers] of ways) {
        for (const status of await statuses([method, place, more], headers)) assert.equal(status, 401, `${method} ${place} with a token that is ${what}`);
      }
    }
  }
  const { port } = (await at.own.rest.get('/status')).browsers.find(({ name }) => name === at.own.name);
  for (const path of ['/json/version', '/json/list', '/devtools/browser', '/json/new?about:blank', '/cdp']) {
    assert.equal((await http(`http://127.0.0.1:${port}`, path)).status, 401, `${path} on the browser's own port`);
  }
  assert.equal((await http(`http://127.0.0.1:${port}`, '/extension?instance=' + at.own.instance, { headers: { origin: EXTENSION_ORIGIN } })).status, 403);
}));

test('a token that was replaced opens nothing', hubOnly, () => withHub(async ({ home, hub }) => {
  const { token: old } = await Rest.of({ home, port: hub.port });
  await hub.end();
  await rm(join(home.state, 'bowline', 'token'));
  const next = await home.serve();
  const { token } = await Rest.of({ home, port: next.port });
  assert.notEqual(token, old);
  const base = `http://127.0.0.1:${next.port}`;
  for (const path of ['/api/status', '/metrics', '/client-slot', '/cdp']) {
    assert.equal((await http(base, path, { headers: { authorization: `Bearer ${old}` } })).status, 401, path);
    assert.equal((await http(base, `${path}?token=${old}`)).status, 401, path);
  }
  assert.equal((await http(base, `/t/${old}/json/version`)).status, 401);
  assert.equal((await http(base, '/api/status', { headers: { authorization: `Bearer ${token}` } })).status, 200);
}));

test('what a form can send is no command', hubOnly, () => withoutEffect(async () => {
  for (const [method, path, { body }] of routes().filter(([method]) => method === 'POST')) {
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'text/plain;charset=application/json', 'TEXT/PLAIN', 'multipart/form-data; boundary=x']) {
      const headers = { ...bearer(), 'content-type': type };
      const { status } = await http(at.base, path, { method, headers, body });
      assert.equal(status, 415, `${path} as ${type}`);
    }
  }
}));

test('raw requests that no client would make get nothing', hubOnly, () => withoutEffect(async () => {
  const host = `127.0.0.1:${at.port}`;
  const raw = async (text) => {
    let answer = '';
    const socket = connect(at.port, '127.0.0.1', () => socket.write(text));
    const ended = new Promise((resolve, reject) => socket.setEncoding('utf8').on('data', (data) => (answer += data)).on('error', reject).on('close', resolve));
    await within(10_000, text.split('\r\n')[0], ended).finally(() => socket.destroy());
    return answer;
  };
  const status = (answer) => Number(/^HTTP\/1\.[01] (\d+)/.exec(answer)?.[1] ?? 0);
  const authorization = `Authorization: Bearer ${at.token}`;
  for (const [what, text, expected] of [
    ['no Host', `GET /api/status HTTP/1.1\r\n${authorization}\r\nConnection: close\r\n\r\n`, [400, 500]],
    ['HTTP/1.0 without Host', `GET /api/status HTTP/1.0\r\n${authorization}\r\n\r\n`, [400, 500]],
    ['two Hosts', `GET /api/status HTTP/1.1\r\nHost: ${host}\r\nHost: evil.test\r\n${authorization}\r\nConnection: close\r\n\r\n`, [400, 500]],
    ['two origins', `GET /api/status HTTP/1.1\r\nHost: ${host}\r\nOrigin: http://${host}\r\nOrigin: http://evil.test\r\n${authorization}\r\nConnection: close\r\n\r\n`, [400, 403]],
    ['a proxy\'s request', `GET http://evil.test/api/status HTTP/1.1\r\nHost: evil.test\r\n${authorization}\r\nConnection: close\r\n\r\n`, [400, 500]],
    ['a tunnel', `CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, [400, 404, 405, 500]],
    ['a path with the token in another case', `GET /T/${at.token}/b/${at.own.name}/json/version HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, [404]],
    ['dots in the path', `GET /healthz/../api/status HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, [401, 404]],
    ['two slashes', `GET //api/status HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, [401, 404]],
    ['no HTTP', 'hello\r\n\r\n', [0, 400]],
  ]) {
    const answer = await raw(text);
    assert.ok(expected.includes(status(answer)), `${what}: ${answer.split('\r\n')[0]}`);
    assert.ok(!answer.includes(at.token), what);
  }
}));

/** Everything that a page can try, with all addresses told to it, the token among them. Gives whatever it could read. */
const ATTACK = `async (base, token, paths, sockets) => {
  const got = [];
  const note = (what, path, value) => { if (value !== undefined && value !== null && value !== '') got.push([what, path, String(value).slice(0, 200)]); };
  const quiet = (promise, ms = 25000) => Promise.race([promise, new Promise((done) => setTimeout(done, ms))]).catch(() => undefined);
  const element = (tag, fields) => quiet(new Promise((done) => {
    const one = Object.assign(document.createElement(tag), fields);
    one.onload = () => done(tag === 'iframe' ? (() => { try { return one.contentDocument?.body?.innerText; } catch { return undefined; } })() : 'loaded');
    one.onerror = () => done();
    document.body.append(one);
  }));
  const form = (path, enctype) => quiet(new Promise((done) => {
    const frame = Object.assign(document.createElement('iframe'), { name: 'f' + Math.random() });
    const one = Object.assign(document.createElement('form'), { method: 'POST', action: base + path, target: frame.name, enctype });
    one.append(Object.assign(document.createElement('input'), { name: '{"instance":"00112233445566778899aabbccddeeff","x":"', value: '"}' }));
    frame.onload = () => { if (one.sent) done((() => { try { return frame.contentDocument?.body?.innerText; } catch { return undefined; } })()); };
    document.body.append(frame, one);
    one.sent = true;
    one.submit();
  }));
  await Promise.all(paths.map(async (path) => {
    const url = base + path;
    const read = async (init) => { const answer = await fetch(url, init); note('fetch', path, await answer.text()); };
    await Promise.all([
      quiet(read({})),
      quiet(read({ credentials: 'include' })),
      quiet(read({ mode: 'no-cors' })),
      quiet(read({ method: 'POST', body: '{}' })),
      quiet(read({ method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body: '{}' })),
      quiet(read({ method: 'POST', mode: 'no-cors', body: new URLSearchParams({ instance: '00112233445566778899aabbccddeeff' }) })),
      quiet(read({ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })),
      quiet(read({ method: 'PUT' })),
      quiet(read({ method: 'DELETE' })),
      quiet(new Promise((done) => { const x = new XMLHttpRequest(); x.onloadend = () => done(note('xhr', path, x.responseText)); x.open('GET', url); x.send(); })),
      quiet(new Promise((done) => { const e = new EventSource(url); e.onopen = () => { note('events', path, 'opened'); e.close(); done(); }; e.onerror = () => { e.close(); done(); }; })),
      element('img', { src: url }).then((value) => note('img', path, value)),
      element('script', { src: url }).then((value) => note('script', path, value)),
      element('link', { rel: 'stylesheet', href: url }).then((value) => note('style', path, value)),
    ]);
    navigator.sendBeacon(url, '{}');
  }));
  // Chrome lets them wait longer and longer when they fail.
  await Promise.all(sockets.map((path, i) => quiet(new Promise((done) => {
    const socket = new WebSocket(base.replace('http', 'ws') + path, i % 2 ? ['bowline', 'bowline.token.' + token] : []);
    socket.onopen = () => done(note('socket', path, 'opened'));
    socket.onerror = () => done();
  }))));
  for (const path of paths.filter((path) => /pairing|native|shutdown/.test(path))) {
    for (const enctype of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data']) note('form', path, await form(path, enctype));
  }
  note('frame', '/', await element('iframe', { src: base + '/json/version' }));
  return got;
}`;

for (const [what, origin] of [['same site', ({ site }) => site.origin], ['another site', ({ site }) => site.other]]) {
  test(`a real page (${what}) gets nothing from any route, and has no effect, even if it knows the token`, { ...hubOnly, timeout: 60_000 }, async () => {
    const page = await Sight.open(at.own, `${origin(at)}/two`);
    const attack = (...args) => page.evaluate(`(${ATTACK})(${args.map((arg) => JSON.stringify(arg))})`);
    assert.ok((await attack(origin(at), '', ['/api'], [])).length >= 5, 'the attack works where it may');
    await withoutEffect(async () => {
      const name = at.own.name;
      const plain = [...new Set(routes().map(([, path]) => path))];
      const paths = [
        ...plain.filter((path) => !path.startsWith('/api')), ...plain.filter((path) => path.startsWith('/api') || path === '/metrics').map((path) => `${path}?token=${at.token}`),
        `/t/${at.token}/b/${name}`, `/t/${at.token}/b/${name}/json/version`, `/t/${at.token}/json/version`,
        `/extension?instance=${at.own.instance}`,
      ];
      const sockets = [`/cdp?token=${at.token}`, '/cdp', `/t/${at.token}/b/${name}`, '/devtools/browser', `/extension?instance=${at.own.instance}`];
      assert.deepEqual(await attack(at.base, at.token, paths, sockets), []);
    });
    await page.close();
    assert.deepEqual(at.own.home.browsers(), [], 'nothing was launched');
  });
}

test('no page can read a secret, also while agents drive it', hubOnly, async () => {
  const browser = await chromium.connectOverCDP(at.own.endpoint);
  const page = await browser.contexts()[0].newPage();
  await page.goto(at.site.url('/frames'));
  await page.exposeFunction('knot', () => 1);
  await page.addInitScript('window.early = 1');
  await page.reload();
  const seen = [];
  for (const frame of page.frames()) {
    seen.push(await frame.evaluate(async (id) => {
      const tries = await Promise.all(['manifest.json', 'preset.json', 'popup/popup.html', 'background.js', 'settings.js', 'icons/16.png', ''].map(async (path) => {
        const url = `chrome-extension://${id}/${path}`;
        const fetched = await fetch(url).then((answer) => answer.text(), () => 'closed');
        const shown = await new Promise((done) => {
          const image = Object.assign(new Image(), { src: url, onload: () => done('open'), onerror: () => done('closed') });
          document.body.append(image);
        });
        return [fetched, shown];
      }));
      const values = Object.getOwnPropertyNames(window).map((name) => {
        try { return `${name}=${typeof window[name] === 'object' ? JSON.stringify(window[name]) : String(window[name])}`; } catch { return name; }
      });
      return {
        tries,
        text: [
          document.documentElement.outerHTML, document.referrer, location.href, document.cookie, window.name, ...values,
          ...performance.getEntries().map((entry) => JSON.stringify(entry)), JSON.stringify(localStorage), JSON.stringify(sessionStorage),
          JSON.stringify(history.state), await (await fetch('/echo', { credentials: 'include' })).text(),
        ].join('\n'),
        extension: typeof globalThis.chrome?.runtime?.sendMessage,
      };
    }, EXTENSION_ID));
  }
  assert.ok(seen.length >= 3);
  for (const { tries, text, extension } of seen) {
    assert.ok(tries.flat().every((one) => one === 'closed'), JSON.stringify(tries));
    assert.equal(extension, 'undefined', 'no way to speak with the extension');
    for (const secret of [at.token, at.key, at.own.instance, `:${at.port}`]) assert.ok(!text.includes(secret), secret);
  }
  await page.goto(`${EXTENSION_ORIGIN}/popup/popup.html`).then(() => assert.fail('an agent is led to the popup'), () => {});
  await page.close();
  await browser.close();
  const manifest = JSON.parse(await readFile(join(at.own.extension, 'manifest.json'), 'utf8'));
  for (const door of ['web_accessible_resources', 'externally_connectable', 'content_scripts']) assert.equal(manifest[door], undefined, door);
});

test('another extension in the same browser, with a permission for the hub\'s address, gets nothing of the person\'s', hubOnly, async () => {
  const path = join(at.own.root, 'other-extension');
  await mkdir(path);
  await writeFile(join(path, 'manifest.json'), JSON.stringify({
    manifest_version: 3, name: 'Other', version: '1', background: { service_worker: 'worker.js' }, host_permissions: ['<all_urls>'],
  }));
  await writeFile(join(path, 'worker.js'), '');
  const { id } = await at.own.pipe.send('Extensions.loadUnpacked', { path });
  const page = await Sight.open(at.own, `chrome-extension://${id}/manifest.json`);
  await withoutEffect(async () => {
    const name = at.own.name;
    const told = await page.evaluate(`(async (base, token, name, instance, ours) => {
      const ask = (path, init) => fetch(base + path, init).then(async (answer) => [answer.status, await answer.text()], () => [0, '']);
      const open = (path) => new Promise((done) => {
        const socket = new WebSocket(base.replace('http', 'ws') + path);
        socket.onopen = () => { socket.close(); done('opened'); };
        socket.onerror = () => done('refused');
      });
      return {
        reads: await Promise.all(['/api/status', '/cdp', '/client-slot', '/metrics', '/api/extensions', '/b/' + name + '/json/list'].map((path) => ask(path))),
        writes: await Promise.all(['/api/extensions/pairing', '/api/extensions/native', '/api/shutdown'].map((path) =>
          ask(path, { method: 'POST', headers: { authorization: 'Bearer ' + token, 'content-type': 'application/json' }, body: '{}' }))),
        sockets: await Promise.all(['/extension?instance=' + instance, '/cdp?token=' + token, '/t/' + token + '/b/' + name].map(open)),
        files: await fetch(ours + '/preset.json').then(() => 'open', () => 'closed'),
        messages: await new Promise((done) => chrome.runtime.sendMessage(ours.slice(19), { wish: 'policy' }, () => done(chrome.runtime.lastError ? 'closed' : 'open'))),
      };
    })(${[at.base, at.token, name, at.own.instance, EXTENSION_ORIGIN].map((arg) => JSON.stringify(arg))})`);
    assert.deepEqual(told.reads.map(([status]) => status), told.reads.map(() => 401));
    assert.ok(told.writes.every(([status]) => status === 403 || status === 0), JSON.stringify(told.writes));
    assert.deepEqual([told.sockets, told.files, told.messages], [['refused', 'refused', 'refused'], 'closed', 'closed']);
  });
  await page.close();
});

/** Listens where the extension looks for its hub, and does with each connection what `take` says. */
async function squat(port, take) {
  const server = createServer((request, response) => response.writeHead(200).end('{"bowline":"0.1.0","protocol":1}'));
  const sockets = new WebSocketServer({ server });
  const seen = { connections: 0, messages: [] };
  sockets.on('connection', (socket, request) => {
    seen.connections += 1;
    socket.on('message', (data) => seen.messages.push(...[JSON.parse(data)].flat()));
    socket.on('error', () => {});
    take(socket, request);
  });
  await until(`port ${port} is free`, () => new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', () => resolve(true))));
  seen.port = server.address().port;
  seen.stop = () => new Promise((resolve) => {
    for (const socket of sockets.clients) socket.terminate();
    server.close(resolve);
    server.closeAllConnections();
  });
  return seen;
}

const isReady = async ({ rest, name }) => (await rest.get('/status')).browsers.find((browser) => browser.name === name)?.state === 'ready';

test('a squatter on the hub\'s port is obeyed in nothing, and the person is told', { ...hubOnly, timeout: 45_000 }, async () => {
  const own = await Own.start({ pages: [at.site.url('/three')] });
  try {
    await own.hub.end();
    const nonce = 'A'.repeat(43);
    const squatter = await squat(own.hub.port, (socket) => {
      const say = (method, params) => socket.send(JSON.stringify({ method, params }));
      socket.once('message', () => {
        say('challenge', { protocol: 1, version: '0.1.0', nonce, proof: nonce });
        say('welcome', { name: 'chromium' });
        say('paired', { name: 'chromium', proof: nonce });
        socket.send(JSON.stringify([{ id: 1, method: 'listTabs' }, { id: 2, method: 'createTab', params: { url: 'about:blank#squatter' } }]));
      });
    });
    const popup = await openPopup(own);
    await until('the popup tells', async () => /Something else answers/.test(await popup.status()), 20_000);
    await popup.close();
    await until('it was tried twice', () => squatter.connections >= 2, 20_000);
    assert.deepEqual([...new Set(squatter.messages.map(({ method, id }) => method ?? id))], ['hello']);
    const hellos = JSON.stringify(squatter.messages);
    assert.ok(!hellos.includes(own.rest.token) && !hellos.includes('three'), 'it learns nothing');
    assert.equal(await inWorker(own, 'chrome.debugger.getTargets().then((all) => all.some(({ attached, tabId, url }) => (attached && tabId !== undefined && !url.startsWith("chrome")) || url.includes("squatter")))'), false);
    await squatter.stop();
    await own.home.serve({ env: { BOWLINE_PORT: String(own.hub.port) } });
    await inWorker(own, '0');
    await until('the hub has its port again', () => isReady(own), 20_000);
  } finally {
    await own.stop().catch(() => {});
    await own.home.cleanup();
  }
});

test('a squatter that passes everything on to the hub at another port gets neither proof accepted', { ...hubOnly, timeout: 45_000 }, async () => {
  const own = await Own.start({ pages: [at.site.url('/three')] });
  let relay;
  try {
    const carried = [];
    relay = await squat(0, (socket, request) => {
      const waiting = [];
      const hub = new WebSocket(`ws://127.0.0.1:${own.hub.port}${request.url}`, { headers: { origin: request.headers.origin } });
      hub.on('open', () => waiting.splice(0).forEach((text) => hub.send(text)));
      hub.on('message', (data) => { carried.push(JSON.parse(data).method); socket.send(data.toString()); });
      hub.on('error', () => {}).on('unexpected-response', () => socket.close()).on('close', () => socket.close());
      socket.on('message', (data) => (hub.readyState === WebSocket.OPEN ? hub.send(data.toString()) : waiting.push(data.toString())));
      socket.on('close', () => hub.terminate());
    });
    const popup = await openPopup(own);
    await popup.wish({ wish: 'hub', hub: `127.0.0.1:${relay.port}` }, ({ hub }, port) => hub.endsWith(`:${port}`), relay.port);
    await until('the popup tells', async () => /Something else answers[^]*does not know the pairing key/.test(await popup.status()), 20_000);
    assert.ok(carried.includes('challenge') && !carried.includes('welcome'), carried.join());
    assert.deepEqual([...new Set(relay.messages.map(({ method }) => method))], ['hello']);
    await popup.wish({ wish: 'hub', hub: `127.0.0.1:${own.hub.port}` });
    await until('connected again', async () => /Connected/.test(await popup.status()), 20_000);
  } finally {
    await relay?.stop();
    await own.stop();
  }
});

test('secrets are in their files and nowhere else, not in a log at trace, not in an argument; files are the owner\'s alone', hubOnly, async () => {
  const own = await Own.start({ pages: [at.site.url('/')], env: { BOWLINE_LOG: 'trace' } });
  try {
    await checkSecrets(own);
  } finally {
    await own.stop();
  }
});

async function checkSecrets(own) {
  let log = own.hub.log();
  own.hub.child.stderr.on('data', (text) => (log += text));
  const { token } = own.rest;
  const { key } = JSON.parse(await readFile(join(own.extension, 'preset.json'), 'utf8'));
  const browser = await chromium.connectOverCDP(own.endpoint);
  const page = await browser.contexts()[0].newPage();
  await page.goto(at.site.url('/two'));
  await browser.close();
  const cdp = await Cdp.connect(`ws://127.0.0.1:${own.hub.port}/cdp?token=${token}`);
  await cdp.send('Target.getTargets');
  await cdp.close();
  await own.home.json('status');
  await own.home.json('extension', 'status');
  await own.home.json('endpoint', own.name);
  assert.match(log, /TRACE/, 'the log is the whole one');
  const commands = own.home.processes().map(({ command }) => command).join('\n');
  for (const secret of [token, key]) {
    assert.deepEqual(log.split('\n').filter((line) => line.includes(secret)), [], 'in the log');
    assert.ok(!commands.includes(secret), 'in an argument');
  }
  const files = (await readdir(own.home.root, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const holding = { [token]: [], [key]: [] };
  for (const { parentPath, name } of files) {
    const path = join(parentPath, name);
    const content = await readFile(path);
    for (const [secret, paths] of Object.entries(holding)) {
      assert.ok(!path.includes(secret));
      if (content.includes(secret)) paths.push(relative(own.home.root, path));
    }
  }
  assert.deepEqual(holding[token].sort(), ['run/bowline/state.json', 'state/bowline/cdp-url', 'state/bowline/token']);
  assert.deepEqual(holding[key].sort(), ['state/bowline/extensions.json']);
  for (const path of Object.values(holding).flat()) assert.equal((await stat(join(own.home.root, path))).mode & 0o777, 0o600, path);
  for (const path of ['run/bowline', 'state/bowline']) assert.equal((await stat(join(own.home.root, path))).mode & 0o777, 0o700, path);
}
