// What browsers leave in the temporary directory: nothing, however they end.
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { hubOnly } from './lib/env.mjs';
import { withHub } from './lib/life.mjs';
import { gone, signal } from './lib/processes.mjs';
import { test } from './lib/test.mjs';
import { until } from './lib/until.mjs';

/** Chromium's own directories (`org.chromium.Chromium.XXXXXX`) and our profiles. */
const left = async (home) => (await readdir(home.tmp, { recursive: true })).filter((name) => /chromium|profile-/i.test(name));

const nothingLeft = async (home) => {
  await until('nothing left', async () => (await left(home)).length === 0, 2_000).catch(() => {});
  assert.deepEqual(await left(home), []);
};

test('a browser that was stopped leaves nothing in the temporary directory', hubOnly, () => withHub(async ({ home }) => {
  await home.json('launch');
  await home.json('stop');
  await nothingLeft(home);
}));

test('a browser that crashed leaves nothing in the temporary directory', hubOnly, () => withHub(async ({ home }) => {
  await home.json('launch');
  const [{ pid }] = home.browsers();
  signal(pid, 'SIGKILL');
  await gone(pid);
  await nothingLeft(home);
}));

test('what a killed hub left in the temporary directory goes with the next', hubOnly, () => withHub(async ({ home, hub }) => {
  await home.json('launch');
  await hub.kill();
  await until('no browser left', () => home.browsers().length === 0, 5_000);
  await home.serve();
  await nothingLeft(home);
}));
