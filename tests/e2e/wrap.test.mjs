// `bowline wrap`: placeholders, stdio, exit codes and signals of the child.
import assert from 'node:assert/strict';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { Home } from './lib/hub.mjs';
import { alive, gone, signal } from './lib/processes.mjs';
import { test } from './lib/test.mjs';
import { within } from './lib/until.mjs';

const at = fixture();
const NODE = process.execPath;
const SHOW = 'console.log(JSON.stringify({ args: process.argv.slice(1), knot: process.env.KNOT }))';

const wrap = (args, options) => at.target.home.run(['wrap', '--', ...args], options);
const wrapNode = (script, args = [], options) => wrap([NODE, '-e', script, ...args], options);

test('placeholders are filled in arguments and in values of the environment', hubOnly, async () => {
  const { code, stdout } = await wrapNode(SHOW,
    ['{cdp_port}', 'at={cdp_endpoint}/json', '{cdp_ws}', '{cdp_port}{cdp_port}', '{other}', '{}'],
    { env: { KNOT: 'on {cdp_endpoint} and {cdp_port}' } });
  assert.equal(code, 0);
  const { port, endpoint, ws } = at.target;
  assert.deepEqual(JSON.parse(stdout), {
    args: [`${port}`, `at=${endpoint}/json`, ws, `${port}${port}`, '{other}', '{}'],
    knot: `on ${endpoint} and ${port}`,
  });
});

test('another browser\'s endpoint can be chosen', hubOnly, async () => {
  const { stdout: endpoint } = await at.target.home.run(['endpoint', 'work']);
  const { stdout } = await at.target.home.run(['wrap', '--browser', 'work', '--', NODE, '-e', SHOW, '{cdp_endpoint}']);
  assert.equal(JSON.parse(stdout).args[0], endpoint.trim());
  assert.notEqual(endpoint.trim(), at.target.endpoint);
});

test('stdin, stdout and stderr are the child\'s own, byte for byte', hubOnly, async () => {
  const input = 'line one\n\u00e4\u{1f600}\u0000 no newline at the end';
  const { code, stdout, stderr } = await wrapNode('process.stdin.pipe(process.stdout); process.stderr.write("told")', [], { input });
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: input, stderr: 'told' });
});

test('the exit code is the child\'s', hubOnly, async () => {
  for (const expected of [0, 1, 7, 255]) {
    assert.equal((await wrapNode(`process.exit(${expected})`)).code, expected);
  }
});

test('a child that ends by a signal gives 128 + n', hubOnly, async () => {
  for (const [name, number] of [['SIGTERM', 15], ['SIGKILL', 9], ['SIGHUP', 1]]) {
    assert.equal((await wrapNode(`process.kill(process.pid, "${name}")`)).code, 128 + number, name);
  }
});

test('a command that does not exist gives 127 and says so', hubOnly, async () => {
  const { code, stdout, stderr } = await wrap(['bowline-no-such-command']);
  assert.equal(code, 127);
  assert.equal(stdout, '');
  assert.match(stderr, /bowline-no-such-command/);
});

for (const [name, number] of [['SIGINT', 2], ['SIGTERM', 15], ['SIGHUP', 1]]) {
  test(`${name} reaches the child, which decides`, hubOnly, async () => {
    const scripts = [
      [`process.on("${name}", () => process.exit(5));`, 5],
      ['', 128 + number],
    ];
    for (const [script, expected] of scripts) {
      const child = at.target.home.spawn(['wrap', '--', NODE, '-e', `${script} console.log(process.pid); setInterval(() => {}, 1000)`]);
      const pid = Number(await new Promise((resolve) => child.stdout.setEncoding('utf8').once('data', resolve)));
      const ended = new Promise((resolve) => child.on('close', (code) => resolve(code)));
      signal(child.pid, name);
      assert.equal(await within(5_000, 'wrap ended', ended), expected);
      await gone(pid);
    }
  });
}

test('the hub stays when the wrapped command has ended', hubOnly, async () => {
  await wrapNode('');
  assert.equal(alive(at.target.pid), true);
});

test('wrap starts the hub when none runs', hubOnly, async () => {
  const home = await Home.make();
  try {
    const { code, stdout } = await home.run(['wrap', '--', NODE, '-e', SHOW, '{cdp_port}']);
    assert.equal(code, 0);
    const { port } = await home.status();
    assert.equal(JSON.parse(stdout).args[0], String(port));
    await home.json('shutdown');
  } finally {
    await home.cleanup();
  }
});
