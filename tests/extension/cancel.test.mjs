// Cancel on the infobar, pressed with a mouse: needs a screen (Xvfb) and a hand (xdotool).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyExtension } from './lib/browser.mjs';
import { FakeHub, newInstance, newKey } from './lib/hub.mjs';
import { CHROMIUM, QUIET_FLAGS } from '../e2e/lib/env.mjs';
import { endAllOf } from '../e2e/lib/processes.mjs';
import { needsScreen, Screen, WINDOW } from '../e2e/lib/screen.mjs';
import { test } from '../e2e/lib/test.mjs';

test('Cancel on the infobar: every tab is told, then the cancel, and nothing attaches until asked anew', needsScreen, async () => {
  const root = await mkdtemp(join(tmpdir(), 'cancel-'));
  const key = newKey();
  const hub = await FakeHub.start({ key });
  const screen = await Screen.start(root);
  try {
    const copy = await copyExtension(root, { hub: hub.address, instance: newInstance(), key });
    spawn(CHROMIUM, [
      '--no-first-run', '--no-default-browser-check', '--no-sandbox', ...QUIET_FLAGS, ...WINDOW,
      `--user-data-dir=${join(root, 'profile')}`, `--load-extension=${copy}`, 'about:blank',
    ], { stdio: 'ignore', env: { ...process.env, ...screen.env, HOME: root, TMPDIR: root } });
    const link = await hub.ready(1, 20_000);
    const tabs = [];
    for (let i = 0; i < 3; i++) tabs.push((await link.ask('createTab', { url: 'about:blank', attach: true })).tab.tabId);

    await screen.cancel(() => link.messages.some(({ method }) => method === 'canceled'));

    const told = link.messages.filter(({ method }) => method === 'tabDetached' || method === 'canceled');
    assert.deepEqual(told.map(({ method }) => method), ['tabDetached', 'tabDetached', 'tabDetached', 'canceled']);
    assert.deepEqual(told.slice(0, 3).map(({ params }) => params.tabId).sort(), tabs.sort());
    assert.ok(told.slice(0, 3).every(({ params }) => params.reason === 'canceled_by_user'));
    await link.message('policy', ({ paused }) => paused === true);
    await assert.rejects(link.ask('attachTab', { tabId: tabs[0], sessionId: 'a' }), /cancelled/);
    await link.ask('attachTab', { tabId: tabs[0], sessionId: 'a', resume: true });
  } finally {
    await endAllOf(root);
    screen.stop();
    await hub.stop();
    await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
});
