// Runs the tests, two files at once beside the one that mostly waits, and leaves no process and no directory behind.
// `node run.mjs [NAME...]`: NAME chooses files that contain it.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endAllOf } from '../e2e/lib/processes.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const WAITING = 'patience.test.mjs';
const names = process.argv.slice(2);
const files = readdirSync(here)
  .filter((file) => file.endsWith('.test.mjs'))
  .filter((file) => names.length === 0 || names.some((name) => file.includes(name)))
  // For most of a minute it has nothing to do: begun first, it costs no time.
  .sort((one, other) => (other === WAITING) - (one === WAITING));

// Every temporary directory lies below this one, so what a crashed test leaves is found by it. Its
// name is short, because Chromium keeps a socket below it.
const root = mkdtempSync(join(tmpdir(), 'bowline-ext-'));
try {
  const child = spawn(process.execPath, ['--test', '--test-concurrency=3', '--test-reporter=spec', ...files],
    { cwd: here, env: { ...process.env, TMPDIR: root }, stdio: 'inherit' });
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => child.kill(name));
  process.exitCode = await new Promise((resolve) => child.on('exit', (status, signal) => resolve(signal ? 1 : status)));
} finally {
  await endAllOf(root);
  rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}
