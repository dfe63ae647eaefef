// When the hub leaves by itself, and what keeps it.
import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe } from 'node:test';
import { Cdp } from './lib/cdp.mjs';
import { CHROMIUM, hubOnly } from './lib/env.mjs';
import { browserWs } from './lib/http.mjs';
import { endpointOf, fakeBrowser, profileOf, withHome, withHub } from './lib/life.mjs';
import { alive, gone } from './lib/processes.mjs';
import { stays } from './lib/stays.mjs';
import { test } from './lib/test.mjs';
import { within } from './lib/until.mjs';

const exists = (path) => stat(path).then(() => true, () => false);
const SHORT = { BOWLINE_IDLE_TIMEOUT: '1s' };
const LONG_ENOUGH = 3_000;

// Each waits for time to pass, so they wait together.
describe('idleness', { concurrency: 4 }, () => {
  test('a hub without clients leaves, with its state file, its browser and the profile', hubOnly, () => withHub(async ({ home, hub }) => {
    await browserWs(hub.endpoint);
    const [browser] = home.browsers();
    const { code } = await within(15_000, 'the idle hub gone', hub.exited);
    assert.equal(code, 0);
    assert.equal(alive(browser.pid), false);
    assert.equal(await exists(profileOf(browser)), false);
    const left = await readdir(join(home.runtime, 'bowline'));
    assert.deepEqual(left.filter((name) => !name.endsWith('.lock')), []);
    assert.deepEqual(home.processes(), []);
  }, SHORT));

  test('a hub that a command started leaves too, and the next has the same endpoint', hubOnly, () => withHome(async (home) => {
    const endpoint = await endpointOf(home);
    const { pid } = await home.json('status');
    await gone(pid, 15_000);
    assert.equal(await endpointOf(home), endpoint);
    assert.notEqual((await home.json('status')).pid, pid);
  }, SHORT));

  test('a connected client keeps the hub, though it says nothing; it leaves after the client', hubOnly, () => withHub(async ({ hub }) => {
    const cdp = await Cdp.connect(hub.endpoint);
    await stays('the hub with a client', () => alive(hub.pid), LONG_ENOUGH);
    assert.ok((await cdp.send('Browser.getVersion')).product);
    await cdp.close();
    await within(15_000, 'the hub gone after its client', hub.exited);
  }, SHORT));

  test('a client of another browser keeps the hub as well', hubOnly, () => withHub(async ({ home, hub }) => {
    const cdp = await Cdp.connect(await endpointOf(home, 'work'));
    await stays('the hub with a client', () => alive(hub.pid), LONG_ENOUGH);
    await cdp.close();
    await within(15_000, 'the hub gone after its client', hub.exited);
  }, SHORT));

  test('a wrapped command keeps the hub, though it never connects; it leaves after the command', hubOnly, () => withHub(async ({ home, hub }) => {
    const child = home.spawn(['wrap', '--', process.execPath, '-e', 'process.stdin.resume()']);
    const ended = new Promise((resolve) => child.on('close', resolve));
    await stays('the hub with a wrapped command', () => alive(hub.pid), LONG_ENOUGH);
    child.stdin.end();
    assert.equal(await within(10_000, 'the command ended', ended), 0);
    await within(15_000, 'the hub gone after the command', hub.exited);
  }, SHORT));

  test('requests keep the hub for as long as they come', hubOnly, () => withHub(async ({ home, hub }) => {
    await stays('the hub that is asked', async () => {
      await home.json('status');
      return alive(hub.pid);
    }, LONG_ENOUGH, 100);
    await within(15_000, 'the hub gone', hub.exited);
  }, SHORT));

  test('a launch that takes longer than the hub may be idle is not cut off', hubOnly, () => withHome(async (home) => {
    const { path } = await fakeBrowser(home, `sleep 2; exec "${CHROMIUM}" "$@"`);
    const hub = await home.serve({ args: ['--browser', path] });
    assert.ok(await browserWs(hub.endpoint));
  }, SHORT));

  test('0 means that it never leaves', hubOnly, () => withHub(async ({ hub }) => {
    await stays('the hub', () => alive(hub.pid), LONG_ENOUGH);
    await hub.end();
  }, { BOWLINE_IDLE_TIMEOUT: '0' }));
});
