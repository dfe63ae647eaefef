// `-f` goes on over whatever happens to the hub; and the commands work with a browser that somebody else
// started, with a hub and without one.
import assert from 'node:assert/strict';
import { Cdp } from './lib/cdp.mjs';
import { Chromium } from './lib/chromium.mjs';
import { DIRECT, hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { freePort, withHome } from './lib/life.mjs';
import { Rest } from './lib/rest.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const at = fixture({
  target: false,
  async open(own) {
    if (DIRECT) return;
    own.chromium = await Chromium.start();
    own.cdp = await Cdp.connect(own.chromium.endpoint);
  },
  async close(own) {
    await own.cdp?.close();
    await own.chromium?.stop();
  },
});

/** A command that goes on: what it has printed so far, and its end. */
function running(home, args, options) {
  const child = home.spawn(args, options);
  const out = { stdout: '', stderr: '', all: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => { out[name] += text; out.all += text; });
  }
  const ended = new Promise((resolve) => child.on('close', (code, sig) => resolve({ code, signal: sig })));
  return {
    out,
    child,
    ended,
    lines: () => out.stdout.split('\n').filter(Boolean),
    printed: (text, ms) => until(`printed: ${text}\n${out.all}`, () => out.all.includes(text), ms),
    async stop(signal = 'SIGINT') {
      child.kill(signal);
      return within(5_000, `ended after ${signal}\n${out.all}`, ended);
    },
  };
}

async function pageOf(endpoint, url) {
  const cdp = await Cdp.connect(endpoint);
  const page = await cdp.page(url);
  return { id: page.targetId, cdp, run: (code) => cdp.evaluate(code, page.sessionId), say: (text) => cdp.evaluate(`console.log(${JSON.stringify(text)})`, page.sessionId) };
}

test('-f prints what there is, a line between, and what comes; Ctrl-C ends it in order', hubOnly, () => withHome(async (home) => {
  const hub = await home.serve();
  const rest = await Rest.of(hub);
  const page = await pageOf(hub.endpoint);
  await page.say('before');
  await rest.line(page.id, 'before');
  const follower = running(home, ['console', '-f']);
  await follower.printed('--- new ---');
  await page.say('after');
  await follower.printed('after');
  assert.match(follower.out.stdout, /before[^]*after/);
  assert.equal(follower.out.stderr, '--- new ---\n', 'the line between is no part of the result');
  assert.doesNotMatch(follower.out.all, /\x1b/);
  assert.deepEqual(await follower.stop(), { code: 0, signal: null });
  await page.cdp.close();
}));

test('-f of requests prints each when it is done, of sockets when they open', hubOnly, () => withHome(async (home) => {
  const hub = await home.serve();
  const page = await pageOf(hub.endpoint, at.site.url('/'));
  await until('loaded', () => page.run('document.title === "home"'));
  const follower = running(home, ['network', '-f', '--type', 'fetch']);
  const json = running(home, ['network', '-f', '--json', '--type', 'fetch']);
  await follower.printed('--- new ---');
  await page.run('void fetch("/hang")');
  await page.run('fetch("/api?done").then((r) => r.text())');
  await follower.printed('/api?done');
  await json.printed('/api?done');
  assert.equal(follower.lines().length, 1, 'the one that hangs is not done');
  await until('done there too', () => json.lines().some((line) => JSON.parse(line).loadingFinished));
  for (const line of json.lines()) assert.ok(JSON.parse(line).seq);
  await follower.stop();
  await json.stop('SIGTERM');
  await page.cdp.close();
}));

test('a reader that leaves ends -f without a complaint', hubOnly, () => withHome(async (home) => {
  const hub = await home.serve();
  const page = await pageOf(hub.endpoint);
  const follower = running(home, ['console', '-f']);
  await follower.printed('--- new ---');
  follower.child.stdout.destroy();
  const { code } = await within(5_000, 'it ends', follower.ended);
  assert.equal(code, 0);
  await page.cdp.close();
}));

test('-f goes on with the next hub, and nothing is missing and nothing is twice', hubOnly, () => withHome(async (home) => {
  const first = await home.serve();
  const page = await pageOf(first.endpoint);
  const follower = running(home, ['console', '-f', '--ndjson']);
  for (let i = 0; i < 20; i++) await page.say(`first ${i}`);
  await until('twenty', () => follower.lines().length === 20);
  // In order: then it waits for somebody to start the next.
  await first.end();
  await follower.printed('the hub has gone');
  const second = await home.serve();
  const other = await pageOf(second.endpoint);
  await other.say('second 0');
  await until('it goes on', () => follower.lines().length === 21);
  // By force: then it starts the next itself.
  await second.kill();
  await until('a third hub', async () => (await home.json('status')).pid !== second.pid);
  const third = await pageOf((await home.status()).browser.endpoint);
  await third.say('third 0');
  await follower.printed('third 0', 20_000);
  const texts = follower.lines().map((line) => JSON.parse(line).text);
  assert.deepEqual(texts, [...Array.from({ length: 20 }, (_, i) => `first ${i}`), 'second 0', 'third 0']);
  assert.match(follower.out.stderr, /the hub is back/);
  await follower.stop();
  for (const { cdp } of [page, other, third]) cdp.socket.terminate();
}));

test('--port reaches a browser that somebody else started, through the hub, which remembers it', hubOnly, () => withHome(async (home) => {
  await home.serve();
  const port = String(at.chromium.port);
  const page = await pageOf(at.chromium.endpoint, at.site.url('/console'));
  await until('loaded', () => page.run('document.title === "console"'));
  assert.match((await home.run(['tabs', '--port', port])).stdout, /\/console/);
  for (const place of [['--port', port], ['--host', '127.0.0.1', '--port', port], ['--connect', `127.0.0.1:${port}`], ['--connect', `http://127.0.0.1:${port}`]]) {
    assert.equal((await home.run(['eval', '/console', 'document.title', ...place])).stdout, 'console\n', place.join(' '));
  }
  const { stdout, stderr } = await home.run(['console', '/console', '--port', port]);
  assert.match(stdout, /careful/);
  assert.doesNotMatch(stderr, /no hub/);
  await page.say('remembered');
  await until('by the hub', async () => (await home.run(['console', page.id, '--port', port])).stdout.includes('remembered'));
  assert.equal((await home.run(['eval', 'location.pathname', '--connect', `ws://127.0.0.1:${port}/devtools/page/${page.id}`])).stdout, '/console\n');
  assert.deepEqual(home.browsers(), [], 'nothing was launched');
  await page.cdp.send('Target.closeTarget', { targetId: page.id });
  const nobody = await freePort();
  const { code, stderr: said } = await home.run(['console', '--port', String(nobody)]);
  assert.equal(code, 4, said);
  assert.match(said, new RegExp(`${nobody}`));
}));

test('without a hub, and none to be started, a browser is asked itself, and a warning says what that means', hubOnly, () => withHome(async (home) => {
  const place = ['--port', String(at.chromium.port)];
  const page = await pageOf(at.chromium.endpoint, at.site.url('/console'));
  await until('loaded', () => page.run('document.title === "console"'));
  const direct = async (...args) => {
    const answer = await home.run([...args, ...place]);
    assert.equal(answer.code, 0, `${args}: ${answer.stderr}`);
    assert.match(answer.stderr, /no hub.*limited/, args.join(' '));
    assert.doesNotMatch(answer.stdout + answer.stderr, /\x1b/);
    return answer.stdout;
  };
  assert.match(await direct('tabs'), /\/console/);
  const said = await direct('console', '/console');
  for (const text of ['hello 42', 'careful', 'broken']) assert.ok(said.includes(text), said);
  assert.match(await direct('console', '/console', '--level', 'error', '--ndjson'), /^\{.*"broken"/m);
  assert.equal(await direct('eval', '/console', 'await Promise.resolve(document.title)'), 'console\n');
  assert.match(await direct('cdp', 'Browser.getVersion'), /Chrome/);
  const threw = await home.run(['eval', '/console', 'throw new Error("no")', ...place]);
  assert.deepEqual([threw.code, /Error: no/.test(threw.stderr)], [9, true]);
  for (const expression of ['for (;;);', 'await new Promise(() => {})']) {
    const late = await home.run(['eval', '/console', expression, '--timeout', '300ms', ...place]);
    assert.deepEqual([late.code, /300 ms/.test(late.stderr)], [8, true], late.stderr);
  }
  assert.equal(await direct('eval', '/console', '1 + 1'), '2\n', 'the page goes on');

  const follower = running(home, ['console', '/console', '-f', ...place]);
  await follower.printed('--- new ---');
  await page.say('while it looks');
  await follower.printed('while it looks');
  assert.deepEqual(await follower.stop(), { code: 0, signal: null });

  for (const args of [['har'], ['body', '1'], ['clear']]) {
    const { code, stderr } = await home.run([...args, ...place]);
    assert.equal(code, 5, `${args}: ${stderr}`);
    assert.match(stderr, /hub/);
  }
  assert.deepEqual(home.processes(), [], 'no hub was started');
  await page.cdp.send('Target.closeTarget', { targetId: page.id });
  await page.cdp.close();
}, { BOWLINE_HUB_AUTOSTART: 'false' }));

test('without a hub, and no browser where one would be, the commands say what to do', hubOnly, () => withHome(async (home) => {
  const nobody = String(await freePort());
  const { code, stderr } = await home.run(['console', '--port', nobody]);
  assert.equal(code, 4, stderr);
  assert.match(stderr, new RegExp(nobody));
  const named = await home.run(['console', '--browser', 'work']);
  assert.equal(named.code, 5, named.stderr);
  assert.match(named.stderr, /hint:/);
  assert.deepEqual(home.processes(), []);
}, { BOWLINE_HUB_AUTOSTART: 'false' }));
