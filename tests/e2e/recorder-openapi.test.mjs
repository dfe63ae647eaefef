// The description of the API keeps its word: schemathesis asks whatever it allows, and some that it does not.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Cdp } from './lib/cdp.mjs';
import { DIRECT, E2E, hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { Rest } from './lib/rest.mjs';
import { test } from './lib/test.mjs';
import { within } from './lib/until.mjs';

/** `cargo xtask test` installs it, and says where. */
const SCHEMATHESIS = process.env.E2E_SCHEMATHESIS;

const at = fixture({
  // The limit has tests of its own.
  env: { BOWLINE_API_RATE_LIMIT: '1000000' },
  async open(own) {
    if (DIRECT) return;
    own.rest = await Rest.of(own.target);
    own.cdp = await Cdp.connect(own.target.ws);
    const { targetId } = await own.cdp.page(own.site.url('/console'));
    await own.rest.line(targetId, 'broken');
    const { seq } = await own.rest.finished(targetId, '/console');
    const { connectionId } = await own.rest.post('/connect', { port: own.target.port, targetId });
    own.known = { name: 'default', tab: targetId, id: connectionId, request: String(seq) };
  },
  close: (own) => own.cdp?.close(),
});

test('the description is there, is whole, and refers to nothing that is not in it', hubOnly, async () => {
  const { status, headers, text } = await at.rest.ask('GET', '/openapi.json');
  assert.equal(status, 200);
  assert.match(headers['content-type'], /^application\/json/);
  const document = JSON.parse(text);
  assert.match(document.openapi, /^3\.1/);
  const referred = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
  assert.deepEqual(referred.filter((name) => !document.components.schemas[name]), []);
  for (const path of ['/api/browsers/{name}/tabs/{tab}/console', '/api/connect', '/api/execute/{id}', '/api/health/{id}']) assert.ok(document.paths[path], path);
});

function schemathesis(args) {
  const child = spawn(SCHEMATHESIS, args, {
    // Where it may leave what it likes.
    cwd: at.target.home.tmp,
    env: {
      ...process.env, PYTHONPATH: join(E2E, 'lib'), PYTHONDONTWRITEBYTECODE: '1', COLUMNS: '120',
      SCHEMATHESIS_HOOKS: 'schemathesis_hooks', BOWLINE_KNOWN: JSON.stringify(at.known),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => { out += text; });
  const ended = new Promise((resolve, reject) => child.on('error', reject).on('close', (code) => resolve({ code, out })));
  return within(100_000, `schemathesis\n${out}`, ended).finally(() => child.kill('SIGKILL'));
}

test('no question that schemathesis can think of is answered against the description', {
  skip: hubOnly.skip || (SCHEMATHESIS ? false : 'E2E_SCHEMATHESIS does not say where schemathesis is (cargo xtask test installs it)'),
  timeout: 110_000,
}, async () => {
  await mkdir(at.target.home.tmp, { recursive: true });
  const { code, out } = await schemathesis([
    '--config-file', join(E2E, 'lib', 'schemathesis.toml'), 'run', `${at.rest.base}/api/openapi.json`,
    '--header', `Authorization: Bearer ${at.rest.token}`, '--checks', 'all', '--phases', 'examples,coverage,fuzzing,stateful',
    // The same questions each time: what it finds is to be found by everyone.
    // Of the ops, which are many and made alike, one stands for all.
    '--exclude-path-regex', '/ops/(?!reload$)',
    '--max-examples', '12', '--seed', '1', '--generation-database', 'none', '--request-timeout', '10', '--continue-on-failure', '--no-color',
  ]);
  assert.equal(code, 0, out);
  const { selected, tested } = /Selected: (?<selected>\d+)\/\d+\s+Tested: (?<tested>\d+)/.exec(out)?.groups ?? {};
  assert.ok(Number(selected) > 20 && selected === tested, out);
  assert.ok(Number(/(\d+) generated/.exec(out)?.[1]) > 500, out);
  assert.equal((await at.rest.get('/status')).pid, at.target.pid, 'the hub is still the same');
});
