// Processes by pid: who lives, who belongs to a test's directory, and ending exactly those.
import { readFileSync, readdirSync } from 'node:fs';
import { until } from './until.mjs';

/** True while the process runs; a zombie that waits for its parent counts as gone. */
export function alive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !'ZX'.includes(stat[stat.lastIndexOf(')') + 2]);
  } catch {
    return false;
  }
}

export function signal(pid, name) {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

export const gone = (pid, ms = 10_000) => until(`process ${pid} gone`, () => !alive(pid), ms);

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

/** Living processes whose command line or environment names `dir`: those a test has started. */
export function processesOf(dir) {
  const found = [];
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!pid || pid === process.pid || !alive(pid)) continue;
    const command = read(pid, 'cmdline');
    if (command.includes(dir) || read(pid, 'environ').includes(dir)) {
      found.push({ pid, command: command.replaceAll('\0', ' ').trim() });
    }
  }
  return found;
}

/** The browsers' main processes among them (helpers carry --type=...). */
export const browsersOf = (dir) =>
  processesOf(dir).filter(
    ({ command }) =>
      /--(user-data-dir|remote-debugging)/.test(command) && !/ --type=/.test(command) &&
      !/crashpad/.test(command.split(' ')[0]),
  );

/** Ends everything that belongs to `dir`, also what sprang up meanwhile. */
export async function endAllOf(dir) {
  await until(`every process of ${dir} gone`, () => {
    const rest = processesOf(dir);
    for (const { pid } of rest) signal(pid, 'SIGCONT') && signal(pid, 'SIGKILL');
    return rest.length === 0;
  });
}
