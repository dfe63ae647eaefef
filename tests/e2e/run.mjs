// Runs the suite: light files two at once, heavy ones alone, and nothing left behind. The tests of ops and actions run
// with every kind of browser: a Chromium and a Firefox that the hub has launched, and a person's own. Those of clients
// run with Chromium, launched and a person's own.
// `node run.mjs [--direct] [NAME...]`: NAME chooses files that contain it.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { E2E } from './lib/env.mjs';
import { endAllOf } from './lib/processes.mjs';

/** Files that measure time or fill the machine: nothing may run beside them. */
const ALONE = ['load.test.mjs', 'lifecycle-faults.test.mjs', 'own-many.test.mjs'];

/** Files that are run with every kind of browser. */
const FOR_ALL = ['actions.test.mjs', 'ops-cancel.test.mjs', 'ops-hard.test.mjs', 'ops-page.test.mjs', 'ops-sites.test.mjs'];
const isForOwn = (file) => FOR_ALL.includes(file) || file.startsWith('clients-');

const args = process.argv.slice(2);
const direct = args.includes('--direct');
const names = args.filter((arg) => !arg.startsWith('--'));
const files = readdirSync(E2E)
  .filter((file) => file.endsWith('.test.mjs'))
  .filter((file) => !direct || !file.startsWith('own-'))
  .filter((file) => names.length === 0 || names.some((name) => file.includes(name)));

// Every temporary directory lies below this one, so what a crashed test leaves is found by it.
const root = mkdtempSync(join(tmpdir(), 'bowline-e2e-run-'));
const env = { ...process.env, TMPDIR: root, ...(direct && { E2E_TARGET: 'direct' }) };

function run(list, concurrency, more = {}) {
  if (list.length === 0) return 0;
  const child = spawn(process.execPath,
    ['--test', `--test-concurrency=${concurrency}`, '--test-reporter=spec', ...list],
    { cwd: E2E, env: { ...env, ...more }, stdio: 'inherit' });
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => child.kill(name));
  return new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal ? 1 : code)));
}

const started = performance.now();
let failed = 0;
try {
  failed |= await run(files.filter((file) => !ALONE.includes(file)), 2);
  if (!direct) {
    failed |= await run(files.filter(isForOwn), 2, { E2E_TARGET: 'own' });
    failed |= await run(files.filter((file) => FOR_ALL.includes(file)), 2, { E2E_TARGET: 'firefox' });
    failed |= await run(files.filter((file) => FOR_ALL.includes(file)), 2, { E2E_TARGET: 'own-firefox' });
  }
  failed |= await run(files.filter((file) => ALONE.includes(file)), 1);
} finally {
  await endAllOf(root);
  rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}
console.log(`end to end: ${failed ? 'FAILED' : 'passed'} in ${Math.round((performance.now() - started) / 1000)} s`);
process.exitCode = failed ? 1 : 0;
