// The command line as a person meets it: help, wrong usage, completions, widths.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { BOWLINE, hubOnly } from './lib/env.mjs';
import { Home } from './lib/hub.mjs';
import { test } from './lib/test.mjs';
import { pooled } from './lib/until.mjs';

let home;
before(async () => { home = await Home.make(); });
after(() => home.cleanup());

const longest = (text) => text.split('\n').reduce((a, b) => ([...b].length > [...a].length ? b : a));
const width = (text) => [...longest(text)].length;

async function help(args, columns) {
  const { code, stdout, stderr } = await home.run([...args, '--help'], { env: { COLUMNS: String(columns) } });
  assert.deepEqual([code, stderr], [0, ''], args.join(' '));
  return stdout;
}

/** The commands that a help text lists, without clap's own `help`. */
const listed = (text) => [...text.split('\nCommands:\n')[1].split('\n\n')[0].matchAll(/^ {2}([a-z]\S*)/gm)]
  .map(([, name]) => name).filter((name) => name !== 'help');

/** Every command, with those of `config` and `setup`. */
async function commands() {
  const names = listed(await help([], 100));
  assert.ok(names.length >= 22, names.join(' '));
  const below = await Promise.all(['config', 'setup'].map(async (name) =>
    listed(await help([name], 100)).map((inner) => [name, inner])));
  return [...names.map((name) => [name]), ...below.flat()];
}

test('the help names every command of the product and every exit code', hubOnly, async () => {
  const text = await help([], 100);
  const expected = ['serve', 'status', 'browsers', 'launch', 'attach', 'stop', 'restart', 'endpoint', 'wrap',
    'tabs', 'console', 'network', 'body', 'eval', 'cdp', 'har', 'clear',
    'setup', 'doctor', 'shutdown', 'demo', 'config', 'completions'];
  assert.deepEqual(expected.filter((name) => !listed(text).includes(name)), []);
  const codes = text.split('Exit codes:')[1];
  for (const code of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) assert.match(codes, new RegExp(`\\b${code}  \\S`));
});

test('the help of every command has examples that begin with bowline', hubOnly, async () => {
  const without = await pooled(await commands(), 2, async (args) => {
    const text = await help(args, 100);
    return /\nExamples:\n(  .*\n)*  .*bowline/.test(text) ? null : args.join(' ');
  });
  assert.deepEqual(without.filter(Boolean), [], 'commands without examples');
});

for (const columns of [80, 100, 200]) {
  test(`the help of every command fits a terminal of ${columns} columns`, hubOnly, async () => {
    const wide = await pooled([[], ...await commands()], 2, async (args) => {
      const text = await help(args, columns);
      return width(text) <= Math.min(columns, 100) ? null : `${args.join(' ')}: ${longest(text)}`;
    });
    assert.deepEqual(wide.filter(Boolean), []);
  });
}

test('the version is one line with name and number', hubOnly, async () => {
  for (const flag of ['--version', '-V']) {
    const { code, stdout } = await home.run([flag]);
    assert.equal(code, 0);
    assert.match(stdout, /^bowline \d+\.\d+\.\d+\S*\n$/);
  }
});

test('wrong usage exits 2 and names what was wrong, on stderr alone', hubOnly, async () => {
  const wrong = [
    [['knot'], /knot/],
    [['status', '--knot'], /--knot/],
    [['--knot'], /--knot/],
    [['launch', '--profile'], /--profile/],
    [['launch', '--headed', '--headless'], /--head(ed|less).*--head(ed|less)/s],
    [['serve', '--port', 'ninety'], /ninety.*--port/s],
    [['serve', '--port', '70000'], /70000.*--port/s],
    [['serve', '--idle-timeout', 'soon'], /idle.timeout/],
    [['stop', 'work', '--all'], /--all/],
    [['wrap'], /COMMAND/],
    [['completions', 'tcsh'], /tcsh/],
    [['attach', 'a', 'b', 'c'], /'c'/],
    [['attach'], /address/],
    [['console', '--level', 'loud'], /loud.*--level/s],
    [['network', '--status', '6'], /'6'.*--status/s],
    [['eval'], /expression/],
    [['cdp', 'reload'], /reload/],
    [['body'], /REQUEST/],
    [['tabs', '--port', '9222', '--browser', 'work'], /--port.*--browser|--browser.*--port/s],
    [[], /Usage/],
  ];
  const said = await pooled(wrong, 2, ([args]) => home.run(args));
  said.forEach(({ code, stdout, stderr }, i) => {
    const [args, names] = wrong[i];
    assert.equal(code, 2, `bowline ${args.join(' ')}: ${stderr}`);
    assert.equal(stdout, '', `bowline ${args.join(' ')}`);
    assert.match(stderr, names, `bowline ${args.join(' ')}`);
  });
  assert.deepEqual(home.processes(), [], 'none of them started a hub');
});

test('a misspelt command is answered with the right one', hubOnly, async () => {
  const { code, stderr } = await home.run(['statsu']);
  assert.equal(code, 2);
  assert.match(stderr, /'status'/);
});

test('completions are scripts that their shells accept', hubOnly, async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout, stderr } = await home.run(['completions', shell]);
    assert.deepEqual([code, stderr], [0, '']);
    for (const word of ['bowline', 'endpoint', '--profile', 'shutdown', 'console', '--follow']) {
      // fish writes an option as `-l profile`.
      assert.ok(stdout.includes(shell === 'fish' ? word.replace('--', '-l ') : word), `${shell}: ${word}`);
    }
    const script = join(home.root, `completion.${shell}`);
    await writeFile(script, stdout);
    const { status, error, stderr: complaint } = spawnSync(shell, ['-n', script], { encoding: 'utf8' });
    if (error?.code === 'ENOENT' && shell !== 'bash') continue;
    assert.equal(status, 0, `${shell} -n: ${complaint}`);
  }
});

/** Runs a command on a terminal of so many columns (script is on every Debian). */
function onTerminal(args, columns) {
  const command = `stty cols ${columns}; exec '${BOWLINE}' ${args.join(' ')}`;
  const env = { ...home.env, COLUMNS: String(columns) };
  const { status, stdout, error } = spawnSync('script', ['-qec', command, '/dev/null'], { env, encoding: 'utf8', timeout: 10_000 });
  assert.equal(status, 0, `${args.join(' ')}: ${error ?? stdout}`);
  return stdout.replace(/\x1b\[[\d;]*m/g, '').replaceAll('\r', '');
}

test('on a terminal of 80 columns status, browsers and config show fit', hubOnly, async () => {
  const hub = await home.serve();
  try {
    await home.json('launch');
    await home.json('launch', 'a-long-name-for-work', '--profile', 'knots');
    const wide = [['status'], ['browsers'], ['config', 'show']].map((args) => {
      const text = onTerminal(args, 80);
      return width(text) <= 80 ? null : `${args.join(' ')}: ${longest(text)}`;
    });
    assert.deepEqual(wide.filter(Boolean), []);
  } finally {
    await hub.end();
  }
});

test('output that goes to a pipe has no colours, and a reader that leaves is no failure', hubOnly, async () => {
  const { stdout, stderr } = await home.run(['stop', 'nobody']);
  assert.doesNotMatch(stdout + stderr, /\x1b\[/);
  const child = home.spawn(['config', 'example'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let said = '';
  child.stderr.on('data', (text) => (said += text));
  assert.equal(await new Promise((resolve) => child.on('close', resolve)), 0);
  assert.equal(said, '');
});
