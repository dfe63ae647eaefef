// `bowline setup`: the real binary, in a home of its own, on files as hosts write them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, lstat, mkdir, readFile, readdir, realpath, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BOWLINE, hubOnly } from './lib/env.mjs';
import { withHome } from './lib/life.mjs';
import { test } from './lib/test.mjs';

const PROGRAM = await realpath(BOWLINE).catch(() => BOWLINE);

/** Where each host has its file in a home of ours, and how it is read. */
const HOSTS = {
  claude: ['.claude.json', 'mcpServers'],
  'claude-desktop': ['config/Claude/claude_desktop_config.json', 'mcpServers'],
  cursor: ['.cursor/mcp.json', 'mcpServers'],
  vscode: ['config/Code/User/mcp.json', 'servers'],
  codex: ['.codex/config.toml', null],
  gemini: ['.gemini/settings.json', 'mcpServers'],
  windsurf: ['.codeium/windsurf/mcp_config.json', 'mcpServers'],
  zed: ['config/zed/settings.json', 'context_servers'],
};

/** A home in which no variable of the machine names another directory. */
const withUser = (body) => withHome(async (home) => {
  for (const name of ['CODEX_HOME', 'CLAUDE_CONFIG_DIR', 'GEMINI_CLI_HOME']) delete home.env[name];
  await body(home);
});

async function put(home, file, text, mode) {
  const path = join(home.root, file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  if (mode) await chmod(path, mode);
  return path;
}

/** Runs a command in a directory, as in a project. */
function inProject(home, dir, ...args) {
  const { status, stdout, stderr } = spawnSync(BOWLINE, [...args, '--json'], { env: home.env, cwd: dir, encoding: 'utf8' });
  assert.equal(status, 0, stderr + stdout);
  return JSON.parse(stdout).data;
}

for (const [host, [file, key]] of Object.entries(HOSTS)) {
  test(`${host}: added to a new file, once, and taken out again`, hubOnly, () => withUser(async (home) => {
    const path = join(home.root, file);
    const tried = await home.json('setup', host, '--dry-run');
    assert.deepEqual([tried.change, tried.created, tried.path], ['added', true, path]);
    assert.match(tried.diff, /\+.*bowline/);
    await assert.rejects(stat(path), { code: 'ENOENT' });

    const added = await home.json('setup', host, '--sets', 'core', '--browser', 'work');
    assert.deepEqual([added.change, added.command, added.args],
      ['added', PROGRAM, ['mcp', '--sets', 'core', '--browser', 'work']]);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    const text = await readFile(path, 'utf8');
    if (key) {
      const entry = { ...(host === 'vscode' && { type: 'stdio' }), command: PROGRAM, args: added.args };
      assert.deepEqual(JSON.parse(text), { [key]: { bowline: entry } });
    } else {
      assert.equal(text, `[mcp_servers.bowline]\ncommand = "${PROGRAM}"\nargs = ["mcp", "--sets", "core", "--browser", "work"]\n`);
    }

    const replaced = await home.json('setup', host);
    assert.equal(replaced.change, 'replaced');
    assert.match(replaced.was, /--sets core/);
    const before = await readFile(path, 'utf8');
    const { code, stdout } = await home.run(['setup', host]);
    assert.equal(code, 0);
    assert.match(stdout, /already there/);
    assert.equal(await readFile(path, 'utf8'), before);

    assert.equal((await home.json('setup', host, '--remove')).change, 'removed');
    assert.equal((await home.json('setup', host, '--remove')).change, 'not_there');
    assert.doesNotMatch(await readFile(path, 'utf8'), /bowline/);
    assert.deepEqual((await readdir(dirname(path))).filter((name) => name.includes('bowline-')), [], 'no temporary file');
    assert.deepEqual(home.processes(), [], 'no hub was needed');
  }));
}

const ZED = `// Zed settings
{
    "theme": "One Dark", // dark
    "context_servers": {
        "other": { "command": "npx", "args": ["-y", "other"], "env": { "KEY": "secret" } }, // mine
        /* "old": {}, */
    },
    "vim_mode": true,
}
`;

test('comments, order, format, permissions and a link stay as they are', hubOnly, () => withUser(async (home) => {
  const real = await put(home, 'dotfiles/zed.json', ZED, 0o640);
  const link = join(home.root, HOSTS.zed[0]);
  await mkdir(dirname(link), { recursive: true });
  await symlink(real, link);
  assert.equal((await home.json('setup', 'zed')).change, 'added');
  const entry = `        "bowline": {\n            "command": "${PROGRAM}",\n            "args": ["mcp"]\n        },\n`;
  assert.equal(await readFile(real, 'utf8'), ZED.replace('// mine\n', `// mine\n${entry}`));
  assert.ok((await lstat(link)).isSymbolicLink());
  assert.equal((await stat(real)).mode & 0o777, 0o640);
  await home.json('setup', 'zed', '--remove');
  assert.equal(await readFile(real, 'utf8'), ZED);
}));

test('a dry run shows the file and the change, and writes nothing', hubOnly, () => withUser(async (home) => {
  const path = await put(home, HOSTS.zed[0], ZED);
  const { code, stdout } = await home.run(['setup', 'zed', '--dry-run']);
  assert.equal(code, 0);
  assert.match(stdout, /would be added to Zed: ~\/config\/zed\/settings\.json\n/);
  assert.match(stdout, /^\+ {8}"bowline": \{$/m);
  assert.match(stdout, /Nothing was written\.\n$/);
  assert.equal(await readFile(path, 'utf8'), ZED);
}));

test('a file that cannot be read as it should is refused with line and column, and left alone', hubOnly, () => withUser(async (home) => {
  for (const [host, text, at] of [
    ['zed', '{\n  "theme": dark\n}\n', ':2:12'],
    ['codex', 'model = "o"\nx = = 1\n', ':2:5'],
    ['cursor', '{\n  "mcpServers": []\n}\n', ':2:17'],
  ]) {
    const path = await put(home, HOSTS[host][0], text);
    const failure = await home.failure('setup', host);
    assert.deepEqual([failure.exit, failure.code], [1, 'not_parsed']);
    assert.ok(failure.message.includes(`${HOSTS[host][0]}${at}`), failure.message);
    assert.ok(failure.hint);
    assert.equal(await readFile(path, 'utf8'), text);
  }
}));

test('a server of that name that is not ours is replaced or removed only by force', hubOnly, () => withUser(async (home) => {
  const text = JSON.stringify({ mcpServers: { bowline: { command: 'npx', args: ['knots'] } }, other: 1 }, null, 2);
  const path = await put(home, HOSTS.cursor[0], text);
  for (const args of [['setup', 'cursor'], ['setup', 'cursor', '--remove']]) {
    const failure = await home.failure(...args);
    assert.deepEqual([failure.exit, failure.code], [1, 'foreign_entry']);
    assert.match(failure.message, /npx knots/);
    assert.match(failure.hint, /--force/);
    assert.equal(await readFile(path, 'utf8'), text);
  }
  assert.equal((await home.json('setup', 'cursor', '--name', 'browser')).change, 'added');
  assert.equal((await home.json('setup', 'cursor', '--force')).change, 'replaced');
  const entry = { command: PROGRAM, args: ['mcp'] };
  assert.deepEqual(JSON.parse(await readFile(path, 'utf8')), { mcpServers: { browser: entry, bowline: entry }, other: 1 });
}));

test('a project has files of its own', hubOnly, () => withUser(async (home) => {
  const dir = await realpath(home.tmp);
  for (const [host, file] of Object.entries({
    claude: '.mcp.json', cursor: '.cursor/mcp.json', vscode: '.vscode/mcp.json',
    codex: '.codex/config.toml', gemini: '.gemini/settings.json',
  })) {
    assert.equal(inProject(home, dir, 'setup', host, '--scope', 'project').path, join(dir, file));
    assert.match(await readFile(join(dir, file), 'utf8'), /bowline/);
  }
  const listed = inProject(home, dir, 'setup').hosts;
  assert.deepEqual(listed.filter(({ bowline }) => bowline.length > 0).map(({ host, bowline }) => [host, bowline[0].scope]),
    ['claude', 'cursor', 'vscode', 'codex', 'gemini'].map((host) => [host, 'project']));
  const { code, stderr } = await home.run(['setup', 'zed', '--scope', 'project']);
  assert.equal(code, 2);
  assert.match(stderr, /--scope/);
}));

test('without a host the hosts are listed, with what was found and where Bowline is', hubOnly, () => withUser(async (home) => {
  await put(home, HOSTS.cursor[0], '{}');
  await put(home, HOSTS.zed[0], '{ oops');
  await home.json('setup', 'codex');
  const { hosts, skill } = await home.json('setup');
  assert.deepEqual(hosts.map(({ host }) => host), Object.keys(HOSTS));
  assert.deepEqual(hosts.filter(({ found }) => found).map(({ host }) => host), ['cursor', 'codex', 'zed']);
  const [server] = hosts.find(({ host }) => host === 'codex').bowline;
  assert.deepEqual([server.name, server.command, server.works], ['bowline', PROGRAM, true]);
  assert.match(hosts.find(({ host }) => host === 'zed').unread[0], /settings\.json:1:3/);
  assert.equal(skill.state, 'missing');
  const { code, stdout } = await home.run(['setup']);
  assert.equal(code, 0);
  assert.match(stdout, /^codex +Codex +yes +~\/\.codex\/config\.toml$/m);
  assert.match(stdout, /^Next: bowline setup cursor$/m);
}));

test('the skill is written, kept when edited, and at most 6 kB', hubOnly, () => withUser(async (home) => {
  const path = join(home.root, '.claude/skills/bowline/SKILL.md');
  assert.deepEqual(await home.json('setup', 'skill', '--dry-run').then(({ change, dry_run }) => [change, dry_run]), ['added', true]);
  await assert.rejects(stat(path));
  assert.deepEqual(await home.json('setup', 'skill').then(({ path, change }) => [path, change]), [path, 'added']);
  const text = await readFile(path, 'utf8');
  assert.ok(Buffer.byteLength(text) <= 6000, `${Buffer.byteLength(text)} bytes`);
  assert.match(text, /^---\nname: bowline\ndescription: .+\n---\n/);
  assert.equal((await home.json('setup', 'skill')).change, 'already_there');
  assert.equal((await home.run(['setup', 'skill', '--print'])).stdout, text);
  await writeFile(path, `${text}\nMine.\n`);
  const failure = await home.failure('setup', 'skill');
  assert.deepEqual([failure.exit, failure.code], [1, 'skill_edited']);
  assert.match(await readFile(path, 'utf8'), /Mine\./);
  assert.equal((await home.json('setup', 'skill', '--force')).change, 'replaced');
  assert.equal(await readFile(path, 'utf8'), text);
  const dir = join(home.root, 'elsewhere');
  assert.equal((await home.json('setup', 'skill', '--dir', dir)).path, join(dir, 'SKILL.md'));
  assert.equal(inProject(home, home.tmp, 'setup', 'skill', '--scope', 'project').change, 'added');
  await stat(join(home.tmp, '.claude/skills/bowline/SKILL.md'));
}));

test('wrong usage is told before anything is written', hubOnly, () => withUser(async (home) => {
  for (const [args, names] of [
    [['setup', 'emacs'], /emacs/],
    [['setup', 'cursor', '--name', 'a b'], /a b/],
    [['setup', 'cursor', '--browser', 'No Name'], /No Name/],
    [['setup', 'cursor', '--remove', '--sets', 'core'], /--sets/],
    [['setup', 'cursor', '--scope', 'world'], /world/],
  ]) {
    const { code, stdout, stderr } = await home.run(args);
    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.match(stderr, names);
  }
  await assert.rejects(stat(join(home.root, '.cursor')), { code: 'ENOENT' });
}));
