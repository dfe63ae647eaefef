// Browsers that die or hang.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { browserWs, http } from './lib/http.mjs';
import { clientsInFlight, fakeBrowser, withHome, withHub } from './lib/life.mjs';
import { alive, gone, signal } from './lib/processes.mjs';
import { test } from './lib/test.mjs';
import { timed, until, within } from './lib/until.mjs';

/** Every command answered by a protocol error, every socket closed with a reason, and all goes on. */
async function survives({ home, hub }, { list, pending }, { ms, since = performance.now() }) {
  const answers = await within(ms + 5_000, 'every command answered', Promise.all(pending));
  for (const answer of answers) {
    assert.equal(typeof answer.code, 'number', `an answer, not: ${answer.message}`);
    assert.ok(answer.at - since < ms, `answered after ${Math.round(answer.at - since)} ms`);
  }
  for (const { code, reason } of await within(5_000, 'every socket closed', Promise.all(list.map((c) => c.closed)))) {
    assert.ok([1001, 1011].includes(code), `code ${code}`);
    assert.notEqual(reason, '');
  }
  const again = await Cdp.connect(hub.endpoint);
  assert.equal(again.url, list[0].url, 'the address is as before');
  const { sessionId } = await again.page();
  assert.equal(await again.evaluate('6 * 7', sessionId), 42);
  assert.equal(home.browsers().length, 1);
  await again.close();
}

test('a killed browser: 50 commands in flight are answered within a second', hubOnly, () => withHub(async (at) => {
  const flight = await clientsInFlight(at.hub.endpoint);
  const { pid } = (await at.home.status()).browser;
  const since = performance.now();
  signal(pid, 'SIGKILL');
  await survives(at, flight, { ms: 1_000, since });
  assert.equal(alive(pid), false);
}));

test('a killed browser is seen in the status', hubOnly, () => withHub(async ({ home, hub }) => {
  await browserWs(hub.endpoint);
  const { pid } = (await home.status()).browser;
  signal(pid, 'SIGKILL');
  await until('the status says so', async () => (await home.status()).browser.state !== 'ready', 2_000);
}));

test('a stopped browser is found within ten seconds and replaced', { ...hubOnly, timeout: 45_000 }, () => withHub(async (at) => {
  const flight = await clientsInFlight(at.hub.endpoint, { commands: 5 });
  const { pid } = (await at.home.status()).browser;
  const since = performance.now();
  signal(pid, 'SIGSTOP');
  await survives(at, flight, { ms: 10_000, since });
  await gone(pid);
}));

test('Browser.crash is survived', hubOnly, () => withHub(async (at) => {
  const flight = await clientsInFlight(at.hub.endpoint, { commands: 5 });
  const since = performance.now();
  flight.list[0].send('Browser.crash').catch(() => {});
  await survives(at, flight, { ms: 3_000, since });
}));

test('Browser.close of a client is answered, and the next connection launches again', hubOnly, () => withHub(async (at) => {
  const flight = await clientsInFlight(at.hub.endpoint, { commands: 5 });
  const since = performance.now();
  assert.deepEqual(await flight.list[0].send('Browser.close'), {});
  await survives(at, flight, { ms: 6_000, since });
}));

test('three kills in a row are survived, each with a new browser', hubOnly, () => withHub(async ({ home, hub }) => {
  const urls = new Set();
  for (let i = 0; i < 3; i++) {
    const cdp = await Cdp.connect(hub.endpoint);
    urls.add(cdp.url);
    const { sessionId } = await cdp.page();
    assert.equal(await cdp.evaluate('1', sessionId), 1);
    signal((await home.status()).browser.pid, 'SIGKILL');
    await within(2_000, 'the client closed', cdp.closed);
  }
  assert.equal(urls.size, 1);
}));

test('a browser that exits at once: a clear error, then a breaker', { ...hubOnly, timeout: 60_000 }, () => withHome(async (home) => {
  const { path, count } = await fakeBrowser(home, 'echo "boom: knot library missing" >&2; exit 3');
  home.env.BOWLINE_BROWSER = path;
  const hub = await home.serve();
  const error = await home.failure('launch');
  assert.match(JSON.stringify(error), /boom: knot library missing/, 'the tail of its stderr');
  assert.match(JSON.stringify(error), /\b3\b/, 'its exit code');
  assert.ok(error.hint, 'a hint');
  for (let i = 0; i < 30; i++) {
    const { status, text } = await http(hub.endpoint, '/json/version');
    assert.ok(status >= 500, `status ${status}`);
    assert.notEqual(text, '');
  }
  const launches = (await readFile(count, 'utf8')).split('\n').length - 1;
  assert.ok(launches < 15, `${launches} launches for 31 requests`);
  const { ms } = await timed(() => http(hub.endpoint, '/json/version'));
  assert.ok(ms < 500, `refused after ${ms} ms`);
}));
