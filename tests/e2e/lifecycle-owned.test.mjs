// Browsers that are somebody's: kept profiles, and Chromiums that the hub did not start.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { Cdp } from './lib/cdp.mjs';
import { Chromium } from './lib/chromium.mjs';
import { hubOnly } from './lib/env.mjs';
import { browserWs, http } from './lib/http.mjs';
import { clientsInFlight, endpointOf, withHub } from './lib/life.mjs';
import { alive, signal } from './lib/processes.mjs';
import { Site } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { within } from './lib/until.mjs';

const withSite = async (body) => {
  const site = await Site.start();
  try {
    return await body(site);
  } finally {
    await site.stop();
  }
};

const withChromium = async (body) => {
  const plain = await Chromium.start();
  try {
    return await body(plain);
  } finally {
    await plain.stop();
  }
};

test('a kept profile has its cookies and storage after a restart', { ...hubOnly, timeout: 60_000 }, () => withSite((site) => withHub(async ({ home }) => {
  await home.json('launch', 'work', '--profile', 'knots');
  const endpoint = await endpointOf(home, 'work');
  const visit = async (path, body) => {
    const browser = await chromium.connectOverCDP(endpoint);
    const page = await browser.contexts()[0].newPage();
    await page.goto(site.url(path));
    const value = await page.evaluate(body);
    await page.close();
    await browser.close();
    return value;
  };
  await visit('/cookie', () => localStorage.setItem('knot', 'bowline'));
  const kept = () => `${document.cookie} ${localStorage.getItem('knot')}`;
  await home.json('restart', 'work');
  assert.equal(await visit('/two', kept), 'knot=bowline bowline');
  await home.json('stop', 'work');
  await home.json('launch', 'work', '--profile', 'knots');
  assert.equal(await visit('/two', kept), 'knot=bowline bowline');
})));

test('a kept profile wants the token; a throw-away one does not', hubOnly, () => withHub(async ({ home, hub }) => {
  await home.json('launch', 'work', '--profile', 'knots');
  const { port } = (await home.status('work')).browser;
  const bare = `http://127.0.0.1:${port}`;
  for (const base of [bare, `${hub.endpoint}/b/work`]) {
    const { status } = await http(base, '/json/version');
    assert.ok([401, 403].includes(status), `${base}: ${status}`);
    const refused = await Cdp.connect(`${base.replace('http', 'ws')}/devtools/browser/guess`).catch((error) => error);
    assert.ok(refused.status >= 400);
  }
  const ws = await browserWs(await endpointOf(home, 'work'));
  const cdp = await Cdp.connect(ws);
  assert.ok((await cdp.send('Browser.getVersion')).product);
  await cdp.close();
  assert.equal((await http(hub.endpoint, '/json/version')).status, 200);
}));

test('an attached Chromium is driven through the hub and never ended by it', { ...hubOnly, timeout: 60_000 }, () => withChromium((plain) => withHub(async ({ home, hub }) => {
  for (const [name, url] of [['by-http', plain.endpoint], ['by-ws', plain.ws], ['by-port', `127.0.0.1:${plain.port}`]]) {
    await home.json('attach', name, url);
    const { browser } = await home.status(name);
    assert.equal(browser.backend, 'attached');
    const endpoint = await endpointOf(home, name);
    const cdp = await Cdp.connect(endpoint);
    const { targetId, sessionId } = await cdp.page();
    assert.equal(await cdp.evaluate('6 * 7', sessionId), 42);
    const list = (await http(plain.endpoint, '/json/list')).json();
    assert.ok(list.some(({ id }) => id === targetId), 'it is the same browser');
    await cdp.close();
    await home.json('stop', name);
    assert.equal(alive(plain.pid), true, 'stop lets go only');
  }
  await home.json('attach', 'again', plain.endpoint);
  await browserWs(await endpointOf(home, 'again'));
  await home.json('shutdown');
  await within(10_000, 'the hub gone', hub.exited);
  assert.equal(alive(plain.pid), true, 'so does shutdown');
  assert.ok(await browserWs(plain.endpoint));
})));

test('two clients of an attached Chromium are as isolated as of a launched one', hubOnly, () => withChromium((plain) => withHub(async ({ home }) => {
  await home.json('attach', 'theirs', plain.endpoint);
  const endpoint = await endpointOf(home, 'theirs');
  const [one, two] = await Promise.all([Cdp.connect(endpoint), Cdp.connect(endpoint)]);
  const { sessionId } = await one.page();
  await assert.rejects(two.send('Runtime.evaluate', { expression: '1' }, sessionId), { code: -32001 });
  assert.deepEqual(two.events, []);
  await Promise.all([one.close(), two.close()]);
})));

test('an attached Chromium that dies: commands are answered, sockets closed with a reason', hubOnly, () => withChromium((plain) => withHub(async ({ home }) => {
  await home.json('attach', 'theirs', plain.endpoint);
  const { list, pending } = await clientsInFlight(await endpointOf(home, 'theirs'));
  const since = performance.now();
  signal(plain.pid, 'SIGKILL');
  for (const answer of await within(5_000, 'every command answered', Promise.all(pending))) {
    assert.equal(typeof answer.code, 'number', `an answer, not: ${answer.message}`);
    assert.ok(answer.at - since < 1_000);
  }
  for (const cdp of list) assert.notEqual((await within(2_000, 'closed', cdp.closed)).reason, '');
})));

test('attaching to an address where nobody listens is an error with a hint', hubOnly, () => withHub(async ({ home }) => {
  const error = await home.failure('attach', 'nobody', 'http://127.0.0.1:1');
  assert.match(error.message, /127\.0\.0\.1:1/);
  assert.doesNotMatch(error.message, /^connection refused/i);
  assert.ok(error.hint);
}));
