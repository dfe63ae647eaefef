// Launches over a port instead of the pipe, as on Windows and for browsers that refuse the pipe.
import assert from 'node:assert/strict';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { browserWs } from './lib/http.mjs';
import { clientsInFlight, endpointOf, fakeBrowser, freePort, profileOf, withHome, withHub } from './lib/life.mjs';
import { alive, gone, signal } from './lib/processes.mjs';
import { Site } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const PORT = { BOWLINE_LAUNCH_TRANSPORT: 'port' };
const exists = (path) => stat(path).then(() => true, () => false);

test('a browser on a port is driven like one on the pipe, and stop deletes its profile', hubOnly, () => withHub(async ({ home, hub }) => {
  const site = await Site.start();
  try {
    const browser = await chromium.connectOverCDP(hub.endpoint);
    const [{ command, pid }] = home.browsers();
    assert.match(command, /--remote-debugging-port=0/);
    assert.doesNotMatch(command, /--remote-debugging-pipe/);
    const page = await browser.contexts()[0].newPage();
    await page.goto(site.url('/popups'));
    const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#open')]);
    await popup.waitForURL('**/two?popup');
    assert.equal(await popup.title(), 'two');
    const left = new Promise((resolve) => browser.on('disconnected', resolve));
    await home.json('stop');
    await within(5_000, 'the client told', left);
    assert.equal(alive(pid), false);
    assert.equal(await exists(profileOf({ command })), false);
  } finally {
    await site.stop();
  }
}, PORT));

test('a browser on a port that crashes: every command is answered, the next connection launches', hubOnly, () => withHub(async ({ home, hub }) => {
  const { list, pending } = await clientsInFlight(hub.endpoint);
  const [{ pid, command }] = home.browsers();
  const since = performance.now();
  signal(pid, 'SIGKILL');
  for (const answer of await within(5_000, 'every command answered', Promise.all(pending))) {
    assert.equal(typeof answer.code, 'number', `an answer, not: ${answer.message}`);
    assert.ok(answer.at - since < 1_000);
  }
  for (const cdp of list) {
    const { reason } = await within(2_000, 'closed', cdp.closed);
    assert.match(reason, /browser/);
  }
  const cdp = await Cdp.connect(hub.endpoint);
  assert.ok((await cdp.send('Browser.getVersion')).product);
  await cdp.close();
  assert.notEqual(home.browsers()[0].pid, pid);
  await until('the old profile gone', async () => !(await exists(profileOf({ command }))), 5_000);
}, PORT));

test('a stale DevToolsActivePort in a kept profile is not used', hubOnly, () => withHub(async ({ home }) => {
  await home.json('launch', 'work', '--profile', 'knots');
  const profile = profileOf(home.browsers()[0]);
  await home.json('stop', 'work');
  let visits = 0;
  const trap = createServer((socket) => { visits++; socket.destroy(); });
  await new Promise((resolve) => trap.listen(0, '127.0.0.1', resolve));
  try {
    await writeFile(join(profile, 'DevToolsActivePort'), `${trap.address().port}\n/devtools/browser/stale\n`);
    const cdp = await Cdp.connect(await endpointOf(home, 'work'));
    assert.ok((await cdp.send('Browser.getVersion')).product);
    await cdp.close();
    assert.equal(visits, 0);
  } finally {
    trap.close();
  }
}, PORT));

test('a browser that opens no port, or dies before it does, is an error with its last words', hubOnly, () => withHub(async ({ home }) => {
  const { path } = await fakeBrowser(home, 'echo "knot not tied" >&2; exit 7');
  const died = await home.failure('launch', '--browser', path);
  assert.equal(died.exit, 4);
  assert.match(died.message, /knot not tied/);
  await fakeBrowser(home, 'echo "still tying" >&2; exec sleep 600');
  const late = await home.failure('launch', '--browser', path);
  assert.equal(late.exit, 4);
  assert.match(late.message, /within 1s/);
  assert.match(late.message, /still tying/);
  await until('it was ended', () => home.processes().every(({ command }) => !command.includes('sleep')), 2_000);
}, { ...PORT, BOWLINE_LAUNCH_TIMEOUT: '1s' }));

for (const [what, args] of [['a throw-away', []], ['a kept', ['--profile', 'knots']]]) {
  test(`a browser on a port with ${what} profile outlives a killed hub only until the next one starts`, hubOnly, () => withHome(async (home) => {
    home.env.BOWLINE_PORT = String(await freePort());
    const first = await home.serve();
    await home.json('launch', 'work', ...args);
    const [{ pid, command }] = home.browsers();
    await first.kill();
    assert.equal(alive(pid), true, 'no pipe to end with');
    const second = await home.serve();
    await gone(pid, 5_000);
    await until('nothing of it runs', () => home.browsers().length === 0, 2_000);
    if (args.length === 0) {
      await until('its profile swept', async () => !(await exists(profileOf({ command }))), 5_000);
      const runs = await readdir(join(profileOf({ command }), '../..'));
      assert.equal(runs.filter((name) => name.startsWith('run-')).length, 1, 'only the new hub\'s');
    }
    assert.equal(second.port, first.port);
    const ws = await browserWs(await endpointOf(home, 'work'));
    const cdp = await Cdp.connect(ws);
    assert.ok((await cdp.send('Browser.getVersion')).product);
    await cdp.close();
  }, PORT));
}
