// `bowline demo`: the tour works, tells what it shows, and leaves no trace.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hubOnly } from './lib/env.mjs';
import { fakeBrowser, freePort, withHome } from './lib/life.mjs';
import { test } from './lib/test.mjs';
import { timed, until } from './lib/until.mjs';

/** A home whose TMPDIR is as short as most people's. */
const withShortTmp = (body, env) => withHome(async (home) => {
  const tmp = await mkdtemp('/tmp/bd-');
  home.env.TMPDIR = tmp;
  try {
    return await body(home, tmp);
  } finally {
    await rm(tmp, { recursive: true, force: true });
  }
}, env);

const passes = async (home) => {
  const { code, stdout, stderr } = await home.run(['demo']);
  assert.deepEqual([code, stderr], [0, ''], stdout);
  return stdout;
};

test('the demo shows launch, tab, click, crash and the unchanged endpoint, and nothing stays', hubOnly, () => withShortTmp(async (home, tmp) => {
  const { value: stdout, ms } = await timed(() => passes(home));
  assert.ok(ms < 20_000, `${ms} ms`);
  const lines = stdout.trim().split('\n');
  assert.ok(lines.every((line) => /^✓ .+ \(\d+ ms\)$/.test(line)), stdout);
  const story = [/hub.*http:\/\/127\.0\.0\.1:\d+.*no browser/, /launched Chrom/, /tab.*http/i, /click/, /crash/, /unchanged/, /no browser and no profile/];
  let from = 0;
  for (const part of story) {
    const at = lines.findIndex((line, i) => i >= from && part.test(line));
    assert.notEqual(at, -1, `${part} in\n${stdout}`);
    from = at + 1;
  }
  assert.deepEqual(await readdir(tmp), []);
  assert.deepEqual(home.processes(), []);
  // The configuration directory too: Chromium puts crash reports there unless told another place.
  for (const dir of [home.data, home.state, home.config]) assert.deepEqual(await readdir(dir), []);
}));

test('the demo gives its steps as JSON', hubOnly, () => withShortTmp(async (home) => {
  const steps = await home.json('demo');
  assert.ok(steps.length >= 6 && steps.every(({ what, millis }) => what && Number.isInteger(millis)));
}));

test('the demo works below a temporary directory as long as macOS\'s', hubOnly, () => withShortTmp(async (home, tmp) => {
  home.env.TMPDIR = join(tmp, 'x'.repeat(49 - tmp.length - 1));
  await mkdir(home.env.TMPDIR);
  await passes(home);
}));

test('the demo works whatever the user has configured', { ...hubOnly, timeout: 60_000 }, () => withShortTmp(async (home) => {
  const port = await freePort();
  await mkdir(join(home.config, 'bowline'));
  await writeFile(join(home.config, 'bowline/config.toml'), `[cdp]\nrequire_token = true\n\n[browsers.work]\nport = ${port}\n`);
  const hub = await home.serve();
  await passes(home);
  assert.equal((await home.json('status')).pid, hub.pid, 'the user\'s hub is another');
}));

test('the demo works over a port too', hubOnly, () =>
  withShortTmp((home) => passes(home), { BOWLINE_LAUNCH_TRANSPORT: 'port' }));

for (const [what, script, says] of [
  ['exits at once', 'echo "knot not tied" >&2; exit 7', /fake-browser.*knot not tied/s],
  ['never answers', 'exec sleep 600', /did not answer within 1s/],
]) {
  test(`the demo fails with a browser that ${what}, says why, and leaves nothing`, hubOnly, () => withShortTmp(async (home, tmp) => {
    const { path } = await fakeBrowser(home, script);
    for (const args of [['demo', '--browser', path], ['demo', '--json', '--browser', path]]) {
      const { code, stdout, stderr } = await home.run(args);
      assert.notEqual(code, 0);
      assert.match(stdout + stderr, says);
      if (args.includes('--json')) assert.equal(JSON.parse(stdout).success, false);
    }
    assert.deepEqual(await readdir(tmp), []);
    await until('nothing of it runs', () => home.processes().length === 0, 2_000);
  }, { BOWLINE_LAUNCH_TIMEOUT: '1s', BOWLINE_STOP_TIMEOUT: '1s' }));
}

test('the demo with a browser that is not installed says which', hubOnly, () => withShortTmp(async (home) => {
  const { code, stderr } = await home.run(['demo', '--browser', 'brave']);
  assert.notEqual(code, 0);
  assert.match(stderr, /brave/i);
}));
