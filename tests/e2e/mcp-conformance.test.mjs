// The protocol's own test suite, and the inspector's command line, against both ways in.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { BOWLINE } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { test } from './lib/test.mjs';

const require = createRequire(import.meta.url);

/**
 * The scenarios for servers that ask for nothing but the protocol. All others call tools, resources and prompts that
 * only a server made for the suite has (`test_simple_text`, `test://static-text`, ...), or capabilities that we do not
 * offer: logging, resource subscriptions, sampling, elicitation.
 */
const SCENARIOS = [
  'server-initialize', 'ping', 'completion-complete', 'tools-list', 'resources-list', 'prompts-list',
  'server-sse-polling', 'server-sse-multiple-streams', 'dns-rebinding-protection',
];

const at = fixture({
  open: (at) => {
    const token = readFileSync(`${at.target.home.state}/bowline/token`, 'utf8').trim();
    at.url = `${at.target.endpoint}/t/${token}/mcp`;
  },
});

/** The program of an npm package, whose exports may hide its package.json. */
const binOf = (name) => {
  const root = require.resolve.paths(name).map((dir) => join(dir, name)).find((dir) => existsSync(dir));
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return join(root, typeof bin === 'string' ? bin : Object.values(bin)[0]);
};

const run = (script, args, env = process.env) => new Promise((resolve, reject) => {
  const child = spawn(process.execPath, [script, ...args], { env, cwd: at.target.home.root, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, log] = ['', ''];
  child.stdout.on('data', (text) => (out += text));
  child.stderr.on('data', (text) => (log += text));
  child.on('error', reject).on('close', (code) => resolve({ code, out, log }));
});

for (const scenario of SCENARIOS) {
  test(`conformance: ${scenario}`, async () => {
    const { code, out, log } = await run(binOf('@modelcontextprotocol/conformance'), ['server', '--url', at.url, '--scenario', scenario]);
    assert.equal(code, 0, out + log);
    assert.match(out, /Passed: [1-9]\d*\/\d+, 0 failed/);
  });
}

const inspect = async (target, ...args) => {
  const { code, out, log } = await run(binOf('@modelcontextprotocol/inspector'), ['--cli', ...target, ...args], { ...at.target.home.env });
  assert.equal(code, 0, out + log);
  return JSON.parse(out);
};

for (const [way, target] of [['stdio', () => [BOWLINE, 'mcp']], ['HTTP', () => [at.url, '--transport', 'http']]]) {
  test(`inspector: lists and calls tools over ${way}`, { timeout: 60_000 }, async () => {
    const { tools } = await inspect(target(), '--method', 'tools/list');
    assert.ok(tools.some((tool) => tool.name === 'browser_navigate'));
    const called = await inspect(target(), '--method', 'tools/call', '--tool-name', 'browser_navigate', '--tool-arg', `url=${at.site.url('/two')}`);
    assert.equal(called.structuredContent.title, 'two');
    const { prompts } = await inspect(target(), '--method', 'prompts/list');
    assert.equal(prompts[0].name, 'debug-page');
  });
}
