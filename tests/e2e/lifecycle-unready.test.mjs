// Browsers that do not start, and what is said of them.
import assert from 'node:assert/strict';
import { hubOnly } from './lib/env.mjs';
import { fakeBrowser, withHome, withHub } from './lib/life.mjs';
import { test } from './lib/test.mjs';
import { timed } from './lib/until.mjs';

test('a browser that never answers is given up', { ...hubOnly, timeout: 90_000 }, () => withHome(async (home) => {
  const { path } = await fakeBrowser(home, 'echo "thinking" >&2; exec sleep 600');
  home.env.BOWLINE_BROWSER = path;
  await home.serve();
  const { ms, value } = await timed(() => home.run(['launch', '--json'], { ms: 80_000 }));
  assert.notEqual(value.code, 0);
  assert.match(value.stdout, /thinking/);
  assert.ok(ms < 60_000, `${ms} ms`);
  assert.deepEqual(home.processes().filter(({ command }) => command.startsWith('sleep')), []);
}));

test('a profile in use has its own message', hubOnly, () => withHome(async (home) => {
  const { path } = await fakeBrowser(home, 'exit 21');
  home.env.BOWLINE_BROWSER = path;
  await home.serve();
  const error = await home.failure('launch');
  assert.match(`${error.message} ${error.hint}`, /profile/i);
  assert.match(`${error.message} ${error.hint}`, /in use|locked|another/i);
}));

test('a profile that another hub\'s browser has open is refused with that message', { ...hubOnly, timeout: 60_000 }, () =>
  withHub(async (first) => {
    await first.home.json('launch', 'work', '--profile', 'knots');
    await withHome(async (second) => {
      await second.serve();
      const error = await second.failure('launch', 'work', '--profile', 'knots');
      assert.match(`${error.message} ${error.hint}`, /in use|locked|another/i);
    }, { XDG_DATA_HOME: first.home.data });
    assert.equal(first.home.browsers().length, 1, 'the first goes on');
  }));

test('a browser that does not exist is an error with a hint', hubOnly, () => withHub(async ({ home }) => {
  const error = await home.failure('launch', 'x', '--browser', '/nonexistent/browser');
  assert.match(error.message, /\/nonexistent\/browser/);
  assert.ok(error.hint);
}));
