// What `bowline wrap` does for its command while the hub comes and goes, and what it keeps secret.
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { hubOnly } from './lib/env.mjs';
import { http } from './lib/http.mjs';
import { freePort, withHome } from './lib/life.mjs';
import { alive, gone, signal } from './lib/processes.mjs';
import { stays } from './lib/stays.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const NODE = process.execPath;

/** For every line it reads, the command asks the endpoint it was given and prints what came. */
const ASKS = `
  require('node:readline').createInterface({ input: process.stdin })
    .on('line', async () => console.log(await fetch(process.env.CDP + '/json/version')
      .then(async (r) => r.status + ' ' + (await r.json()).webSocketDebuggerUrl, (e) => 'failed ' + e.cause?.code)))
    .on('close', () => process.exit(3));
  console.log(process.env.CDP);`;

/** A wrapped command that can be told to ask. */
async function wrapped(home, ...options) {
  const child = home.spawn(['wrap', ...options, '--', NODE, '-e', ASKS], { env: { CDP: '{cdp_endpoint}' } });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async () => (await within(20_000, 'a line of the wrapped command', lines.next())).value;
  const ended = new Promise((resolve) => child.on('close', resolve));
  return {
    child, ended, endpoint: await line(),
    ask: () => { child.stdin.write('\n'); return line(); },
    end: () => { child.stdin.end(); return within(5_000, 'wrap ended', ended); },
  };
}

for (const [what, port] of [['a fixed port', freePort], ['a port that the system chose', () => 0]]) {
  test(`a killed hub comes back by itself on ${what}, and the command connects again`, hubOnly, () => withHome(async (home) => {
    home.env.BOWLINE_PORT = String(await port());
    const command = await wrapped(home);
    const first = await command.ask();
    assert.match(first, /^200 ws:/);
    for (let round = 0; round < 2; round++) {
      const { pid } = await home.json('status');
      signal(pid, 'SIGKILL');
      await gone(pid);
      await until('the hub back', async () => (await http(command.endpoint, '/healthz')).status === 200, 5_000);
      assert.equal(await command.ask(), first, 'the same URL, down to the browser\'s id');
      assert.notEqual((await home.json('status')).pid, pid);
    }
    assert.equal(await command.end(), 3, 'the exit code is still the command\'s');
    await home.json('shutdown');
  }));
}

test('two wrapped commands bring back one hub', hubOnly, () => withHome(async (home) => {
  const commands = [await wrapped(home), await wrapped(home)];
  const { pid } = await home.json('status');
  signal(pid, 'SIGKILL');
  await gone(pid);
  await until('the hub back', async () => (await http(commands[0].endpoint, '/healthz')).status === 200, 5_000);
  assert.match(await commands[0].ask(), /^200 /);
  assert.match(await commands[1].ask(), /^200 /);
  assert.equal(home.processes().filter(({ command }) => / serve( |$)/.test(command)).length, 1);
  for (const command of commands) await command.end();
  await home.json('shutdown');
}));

for (const [what, end] of [
  ['bowline shutdown', (home) => home.json('shutdown')],
  ['SIGTERM', (_, pid) => signal(pid, 'SIGTERM')],
]) {
  test(`${what} while a command is wrapped does not bring the hub back`, hubOnly, () => withHome(async (home) => {
    const command = await wrapped(home);
    assert.match(await command.ask(), /^200 /);
    const { pid } = await home.json('status');
    await end(home, pid);
    await gone(pid);
    await stays('no hub', () => !home.processes().some(({ command: line }) => / serve( |$)/.test(line)), 1_500);
    assert.equal(alive(command.child.pid), true, 'the command goes on');
    assert.equal(await command.ask(), 'failed ECONNREFUSED');
    assert.equal(await command.end(), 3);
  }));
}

test('a URL with the token is refused in arguments and works in the environment', hubOnly, () => withHome(async (home) => {
  await home.json('launch', 'work', '--profile', 'knots');
  for (const word of ['{cdp_endpoint}', '--at={cdp_ws}']) {
    const args = ['wrap', '--browser', 'work', '--', NODE, '-e', 'console.log("ran")', word];
    const { code, stdout, stderr } = await home.run(args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /work.*secret/);
    assert.match(stderr, /hint: .*environment/);
    const error = await home.failure(...args);
    assert.deepEqual([error.code, error.exit], ['secret_in_arguments', 2]);
  }
  const { port } = (await home.status('work')).browser;
  const { code, stdout } = await home.run(['wrap', '--browser', 'work', '--', NODE, '-p', 'process.argv[1]', '{cdp_port}']);
  assert.deepEqual([code, stdout], [0, `${port}\n`], 'the port is no secret');

  const command = await wrapped(home, '--browser', 'work');
  assert.match(command.endpoint, new RegExp(`^http://127\\.0\\.0\\.1:${port}/t/[\\w-]{43}$`));
  assert.match(await command.ask(), /^200 ws:.*\/t\//);
  const [, token] = /\/t\/([\w-]+)/.exec(command.endpoint);
  const told = home.processes().filter(({ command: line }) => line.includes(token));
  assert.deepEqual(told, [], 'no command line has the token');
  await command.end();
  await home.json('shutdown');
}));
