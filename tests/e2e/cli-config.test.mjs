// Configuration as a user meets it: where values come from, what is wrong with them, and the doctor.
import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { E2E, hubOnly } from './lib/env.mjs';
import { fakeBrowser, withHome } from './lib/life.mjs';
import { test } from './lib/test.mjs';

/** Writes config.toml where Bowline looks for it; returns its path. */
async function configure(home, text) {
  const dir = join(home.config, 'bowline');
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await writeFile(join(dir, 'config.toml'), text);
  return join(dir, 'config.toml');
}

test('config show tells for each value whether it is from file and line, environment or default', hubOnly, () => withHome(async (home) => {
  const path = await configure(home, '# comment\nheadless = true\n\n[stop]\ntimeout = "3s"\n\n[browsers.work]\nprofile = "knots"\n');
  const rows = Object.fromEntries((await home.json('config', 'show')).map((row) => [row.key, row]));
  const { code, stdout } = await home.run(['config', 'show']);
  assert.equal(code, 0);
  const line = (key) => stdout.split('\n').find((text) => text.startsWith(`${key} `));
  assert.match(line('port'), /0 .*BOWLINE_PORT/);
  assert.match(line('restart.cooldown'), /"1m" .*default/);
  for (const [key, at, value] of [['headless', 2, 'true'], ['stop.timeout', 5, '"3s"'], ['browsers.work.profile', 8, '"knots"']]) {
    assert.ok(line(key).includes(value), line(key));
    assert.match(line(key), new RegExp(`config\\.toml:${at}\\b`));
    assert.deepEqual(rows[key].origin, { kind: 'file', path, line: at });
  }
  assert.match(JSON.stringify(rows.port), /BOWLINE_PORT/);
  assert.deepEqual(home.processes(), [], 'no hub was needed');
}));

test('the environment wins over the file, and a flag over both', hubOnly, () => withHome(async (home) => {
  await configure(home, 'idle_timeout = "7m"\nbrowser = "edge"\n');
  const rows = await home.json('config', 'show');
  assert.match(JSON.stringify(rows.find(({ key }) => key === 'idle_timeout')), /BOWLINE_IDLE_TIMEOUT/);
  home.env.BOWLINE_BROWSER = 'brave';
  await home.serve({ args: ['--browser', '/nonexistent/knot'] });
  assert.match((await home.failure('launch')).message, /\/nonexistent\/knot/);
}));

test('the example file is a configuration that is accepted as it is and with every value set', hubOnly, () => withHome(async (home) => {
  const { stdout } = await home.run(['config', 'example']);
  await configure(home, stdout);
  const before = await home.json('config', 'show');
  const active = stdout.replace(/^#(?=[a-z_]+ = )/gm, '').replace(/^#(?=\[)/gm, '');
  assert.notEqual(active, stdout);
  await configure(home, active);
  const after = await home.json('config', 'show');
  const values = (rows) => rows.filter(({ key }) => !key.startsWith('browsers.')).map(({ key, value }) => [key, value]);
  assert.deepEqual(values(after), values(before), 'the example shows the defaults');
}));

const WRONG = [
  ['a misspelt key', 'headless = true\nidle_timout = "3s"\n', 2, /idle_timout/, /idle_timeout/],
  ['a key that its table does not have', '[launch]\nheadless = true\n', 2, /headless/, /hint: ./],
  ['a value that is not offered', '\n\n[launch]\ntransport = "pip"\n', 4, /transport/, /pipe/],
  ['a value of the wrong type', 'port = "high"\n', 1, /port/, /expected|0/],
  ['a number that is too large', 'port = 70000\n', 1, /port/, /65535|expected/],
  ['a duration that is none', 'idle_timeout = "soon"\n', 1, /soon/, /5m|30s|expected/],
  ['text that is not TOML', 'port = 9223\nheadless = = true\n', 2, /TOML|expected/i, /./],
  ['a name that no browser can have', '[browsers.Work]\nport = 0\n', 1, /Work/, /lower-case/],
];

for (const [what, text, line, names, hint] of WRONG) {
  test(`${what} is an error with file, line and suggestion`, hubOnly, () => withHome(async (home) => {
    const path = await configure(home, text);
    // Also through a hub that another command wants to start.
    for (const args of [['config', 'show'], ['serve'], ['status'], ['endpoint']]) {
      const { code, stdout, stderr } = await home.run(args);
      assert.equal(code, 2, `${args}: ${stderr}`);
      assert.equal(stdout, '');
      assert.ok(stderr.includes(`${path}:${line}`), `${args}: ${stderr}`);
      assert.match(stderr, names);
      assert.match(stderr.slice(stderr.indexOf(path) + path.length), hint);
    }
    assert.equal((await home.failure('launch')).exit, 2);
    assert.deepEqual(home.processes(), []);
  }));
}

test('a wrong value in the environment names the variable', hubOnly, () => withHome(async (home) => {
  for (const args of [['config', 'show'], ['status']]) {
    const { code, stderr } = await home.run(args, { env: { BOWLINE_IDLE_TIMEOUT: 'soon' } });
    assert.equal(code, 2);
    assert.match(stderr, /BOWLINE_IDLE_TIMEOUT/);
    assert.match(stderr, /soon/);
  }
}));

test('a variable that no setting has is told, with the one that was meant', hubOnly, () => withHome(async (home) => {
  const { stderr } = await home.run(['config', 'show'], { env: { BOWLINE_IDLE_TIMOUT: '5m' } });
  assert.match(stderr, /BOWLINE_IDLE_TIMOUT/);
  assert.match(stderr, /BOWLINE_IDLE_TIMEOUT/);
}));

test('the doctor finds nothing wrong here, and leaves nothing behind', hubOnly, () => withHome(async (home) => {
  const { code, stdout } = await home.run(['doctor']);
  assert.equal(code, 0, stdout);
  for (const check of ['configuration', 'runtime directory', 'hub', 'browser', 'launch']) {
    assert.match(stdout, new RegExp(`^✓ ${check}: .`, 'm'));
  }
  assert.deepEqual(home.processes(), []);
  const left = await readdir(home.tmp, { recursive: true });
  assert.deepEqual(left.filter((name) => /profile-|run-|chromium/i.test(name)), []);
}));

test('the doctor tells whether execute has what it needs, and how to get it; all else is well without', hubOnly, () => withHome(async (home) => {
  const there = await home.run(['doctor'], { env: { BOWLINE_EXECUTE_PLAYWRIGHT: E2E } });
  assert.match(there.stdout, /^✓ execute: Node\.js v\d+[^ ]*, playwright-core \d/m);
  const bin = join(home.root, 'bin');
  await mkdir(bin);
  const missing = await home.run(['doctor'], { env: { PATH: bin } });
  assert.equal(missing.code, 0, missing.stdout);
  assert.match(missing.stdout, /^- execute: .*Node\.js 18.*\n {2}hint: install Node\.js.*playwright-core/m);
  const { code, stdout } = await home.run(['doctor', '--json'], { env: { PATH: bin } });
  assert.equal(code, 0);
  assert.equal(JSON.parse(stdout).data.find(({ check }) => check === 'execute').verdict, 'note');
  assert.deepEqual(home.processes(), []);
}));

/** The doctor must exit 1, with a ✗ for this check and a hint below it. */
async function isIll(home, check, says) {
  const { code, stdout } = await home.run(['doctor']);
  assert.equal(code, 1, stdout);
  const lines = stdout.split('\n');
  const at = lines.findIndex((line) => line.startsWith(`✗ ${check}: `));
  assert.notEqual(at, -1, stdout);
  const rest = lines.slice(at, at + 3).join('\n');
  assert.match(rest, says);
  assert.match(rest, /\n {2}hint: ./, 'a hint');
  return stdout;
}

test('the doctor says how to mend a browser that is not there', hubOnly, () =>
  withHome((home) => isIll(home, 'browser', /\/nonexistent/), { BOWLINE_BROWSER: '/nonexistent' }));

test('the doctor says how to mend a broken configuration, and checks the rest', hubOnly, () => withHome(async (home) => {
  await configure(home, 'headless = true\nprot = 1\n');
  const stdout = await isIll(home, 'configuration', /config\.toml:2\b.*prot/);
  assert.match(stdout, /`port`/, 'the suggestion');
  assert.match(stdout, /✓ browser: /);
}));

test('the doctor says what a browser that does not start has said', hubOnly, () => withHome(async (home) => {
  home.env.BOWLINE_BROWSER = (await fakeBrowser(home, 'echo "knot not tied" >&2; exit 7')).path;
  await isIll(home, 'launch', /knot not tied/);
}));
