// The ops execute and reset: agents' JavaScript with Playwright, in a Node process of each agent's own.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from './lib/agent.mjs';
import { fixture } from './lib/fixture.mjs';
import { E2E } from './lib/env.mjs';
import { Home } from './lib/hub.mjs';
import { Own } from './lib/own.mjs';
import { gone } from './lib/processes.mjs';
import { Rest } from './lib/rest.mjs';
import { html } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { until } from './lib/until.mjs';

/** An agent that runs code; lines about what happened are its `changes`. */
class Coder extends Agent {
  async execute(code, more = {}) {
    const { happened = [], media = [], ...data } = await this.op('execute', { code, ...more });
    return { ...data, changes: happened, media };
  }

  value = async (code, more) => (await this.execute(code, more)).result;
}

const nodes = (home) => home.processes().filter(({ command }) => command.includes('Given to Node on its command line'));

/** Code that shows in the list of tabs that it has begun. */
const begins = (word) => `await page.goto(${JSON.stringify(at.site.url(`/form?${word}`))});`;
const begun = (word, of = rest) => until(`the code ${word} runs`, async () =>
  (await of.tabs()).some(({ url }) => url === at.site.url(`/form?${word}`)));

let rest;
const agent = (name) => new Coder(rest, name);
const at = fixture({
  pages: {
    '/form': html('form', '<h1>Form</h1><input aria-label="Name"><button onclick="document.title = document.querySelector(\'input\').value">Go</button>'),
    '/alert': html('alert', '<button onclick="document.title = String(confirm(\'sure?\'))">Ask</button>'),
  },
  async open({ target }) {
    rest = await Rest.of(target);
  },
});

test('much goes both ways at once', async () => {
  const one = agent('talker');
  const much = 3 << 20;
  // Code and inputs of several MB while answers and logs of several MB come.
  const code = `const text = ${JSON.stringify('x'.repeat(much))};
    for (let i = 0; i < 64; i += 1) console.log('y'.repeat(16_000));
    const asked = Array.from({ length: 3 }, () => op('evaluate', { expression: JSON.stringify(text), max_chars: ${2 * much} }));
    for (let i = 0; i < 64; i += 1) console.log('z'.repeat(16_000));
    const answers = await Promise.all(asked);
    return answers.map(({ data }) => data.value.length);`;
  const { result, logs } = await one.execute(code, { timeout: 60_000 });
  assert.deepEqual(result, Array(3).fill(much));
  assert.ok(logs.reduce((sum, { text }) => sum + text.length, 0) > 1_000_000);
});

test('an expression, statements with return, and a last expression give their value', async () => {
  const one = agent('values');
  assert.equal(await one.value('1 + 1'), 2);
  assert.equal(await one.value('await Promise.resolve("later");'), 'later');
  assert.deepEqual(await one.value('{a: [1, null, "x"]}'), { a: [1, null, 'x'] });
  assert.equal(await one.value('const a = 20\nconst b = 22\nreturn a + b'), 42);
  assert.equal(await one.value('const a = 20; const b = 1; a + b'), 21);
  assert.equal(await one.value('const list = [1, 2]\n// a; b\nlist.map((n) => {\n  return n * 2\n}).join()'), '2,4');
  assert.equal(await one.value('const a = 5;\n(a + 1)'), 6);
  assert.equal(await one.value('const a = (n) => n\n(5)'), null, 'one statement');
  assert.equal(await one.value('async (page) => page.url()'), 'about:blank');
  assert.equal(await one.value('const page = 5; return page'), 5);
  assert.equal(await one.value('if (true) { 7 }'), null);
  assert.equal((await one.execute('new Map([[1, 2]])')).result, 'Map(1) { 1 => 2 }');
  assert.match((await one.execute('page')).result, /^\[Page about:blank\]$/);
  assert.equal(await one.value('"\\ud83d"'), '\ufffd');
});

test('page, context and browser are Playwright\'s own, and the page is the agent\'s tab', async () => {
  const one = agent('pages');
  await one.op('navigate', { url: at.site.url('/form') });
  const { result, url, tab } = await one.execute(`
    await page.getByLabel('Name').fill('Ada');
    await page.getByRole('button', { name: 'Go' }).click();
    // Chromium may not paint a tab behind another while several clients look at it.
    await page.bringToFront();
    const [shot, again] = [await page.screenshot(), context.pages().includes(page)];
    return { title: await page.title(), shot: shot.length > 100, again, version: typeof browser.version() };`);
  assert.deepEqual(result, { title: 'Ada', shot: true, again: true, version: 'string' });
  assert.equal(url, at.site.url('/form'));
  assert.match(tab, /^t\d+$/);
  assert.equal((await one.op('evaluate', { expression: 'document.title' })).value, 'Ada');
  const { media } = await one.execute('page.screenshot()');
  assert.equal(media[0].mime, 'image/png');
  await one.execute('await page.close()');
  assert.equal((await one.execute('page.url()')).result, 'about:blank', 'a new one for one that was closed');
});

test('state lasts between calls and is each agent\'s own; reset forgets it', async () => {
  const [one, two] = [agent('one'), agent('two')];
  await Promise.all([one.execute('state.n = 1'), two.execute('state.n = 2')]);
  assert.deepEqual(await Promise.all([one.value('state.n'), two.value('state.n')]), [1, 2]);
  const tabs = await Promise.all([one, two].map(async (agent) => (await agent.execute('0')).tab));
  assert.notEqual(...tabs);
  assert.equal((await one.op('reset')).reset, true);
  const { result, changes } = await one.execute('state.n === undefined');
  assert.equal(result, true);
  assert.deepEqual(changes, []);
  assert.equal(await two.value('state.n'), 2);
});

test('calls of one agent run one after another', async () => {
  const one = agent('order');
  await one.execute('state.seen = []');
  const slow = one.execute(`${begins('order')} state.seen.push("a"); await page.waitForTimeout(300); state.seen.push("b")`);
  await begun('order');
  await Promise.all([slow, one.execute('state.seen.push("c")')]);
  assert.deepEqual(await one.value('state.seen'), ['a', 'b', 'c']);
});

test('the console is captured with levels, and so is what is written to stdout', async () => {
  const one = agent('console');
  const { logs, result, text } = await one.execute(`
    console.log('hello %s', 'you', {a: 1}); console.warn('careful'); console.error(new Error('bad').message);
    process.stdout.write('out'); require('fs').writeSync(1, 'raw');
    return 5`);
  assert.deepEqual(logs, [
    { level: 'log', text: 'hello you { a: 1 }' },
    { level: 'warn', text: 'careful' },
    { level: 'error', text: 'bad' },
    { level: 'stdout', text: 'out' },
    { level: 'stdout', text: 'raw' },
  ]);
  assert.equal(result, 5);
  assert.match(text, /^5\n\nConsole:\n\[log\] hello you/);
  const many = await one.execute('for (let n = 0; n < 3000; n += 1) console.log(n)');
  assert.equal(many.logs.length, 1000);
  assert.equal(many.dropped, 2000);
  const big = await one.execute('"x".repeat(3_000_000)');
  assert.equal(big.cut, true);
  assert.ok(big.result.length < 1.1e6);
});

test('errors come back with the line in the code, and the next call works', async () => {
  const one = agent('errors');
  const thrown = await one.refused('execute', { code: 'const a = 1;\nconsole.log(a)\nundefined.nothing' });
  assert.equal(thrown.code, 'page_threw');
  assert.match(thrown.message, /^TypeError: .*nothing.*\nat code:3:/);
  assert.deepEqual(thrown.logs, [{ level: 'log', text: '1' }]);
  const inner = await one.refused('execute', { code: 'function f() {\n  throw new RangeError("no")\n}\nawait f()' });
  assert.match(inner.message, /^RangeError: no\nat f \(code:2:9\)\nat .*code:4:/);
  const syntax = await one.refused('execute', { code: 'const a = 1;\nconst b = ;' });
  assert.equal(syntax.code, 'bad_input');
  assert.match(syntax.message, /SyntaxError: Unexpected token ';'\ncode:2\nconst b = ;\n/);
  const slow = await one.refused('execute', { code: 'page.click("#nowhere", { timeout: 200 })' });
  assert.match(slow.message, /^TimeoutError: .*Timeout 200ms exceeded/);
  assert.doesNotMatch(slow.message, /\x1b/);
  const sooner = await one.refused('execute', { code: 'page.click("#nowhere")', timeout: 2000 });
  assert.match(sooner.message, /^TimeoutError/, 'Playwright gives up before we do');
  const { logs } = await one.execute('Promise.reject(new Error("lost")); await page.waitForTimeout(50); return 1');
  assert.match(logs[0].text, /unhandled rejection: Error: lost/);
  assert.equal(await one.value('1'), 1);
});

test('a timeout ends the process, also in a loop, and the next call works', async () => {
  const one = agent('late');
  for (const code of ['console.log("begun"); for (;;);', 'console.log("begun"); await new Promise(() => {})']) {
    await one.execute('state.n = 1');
    const before = nodes(at.target.home).map(({ pid }) => pid);
    const late = await one.refused('execute', { code, timeout: 1000 });
    assert.equal(late.code, 'timeout');
    assert.match(late.message, /state.*is lost/);
    assert.deepEqual(late.logs, [{ level: 'log', text: 'begun' }]);
    await until('one process less', () => nodes(at.target.home).length < before.length);
    const { result, changes } = await one.execute('state.n === undefined');
    assert.equal(result, true);
    assert.match(changes[0], /was not done in time/);
  }
});

test('reset ends a call that runs', async () => {
  const one = agent('stuck');
  await one.execute('0');
  const running = one.refused('execute', { code: `${begins('stuck')} await new Promise(() => {})` });
  await begun('stuck');
  const queued = one.refused('execute', { code: '1', timeout: 29_000 });
  assert.equal((await one.op('reset')).reset, true);
  assert.equal((await running).code, 'cancelled');
  assert.equal((await queued).code, 'cancelled');
  assert.equal(await one.value('1'), 1);
});

test('code that ends its process is told so, and the next call works', async () => {
  const one = agent('exits');
  const ended = await one.refused('execute', { code: 'process.exit(3)' });
  assert.equal(ended.code, 'gone');
  assert.match(ended.message, /exit status: 3/);
  assert.match((await one.execute('1')).changes[0], /ended during a call/);
});

test('a caller that goes away takes its process along, with what that has started', async () => {
  const one = agent('leaver');
  const pid = await one.value('(state.child = require("child_process").spawn("sleep", ["1000"])).pid');
  const abort = new AbortController();
  const call = fetch(`${rest.base}/api/browsers/default/tabs/current/ops/execute`, {
    method: 'POST', signal: abort.signal,
    headers: { ...rest.headers(), 'content-type': 'application/json', 'x-bowline-session': 'leaver' },
    body: JSON.stringify({ code: `${begins('leaver')} await new Promise(() => {})` }),
  });
  const failed = assert.rejects(call);
  await begun('leaver');
  abort.abort();
  await failed;
  await gone(pid);
  assert.match((await one.execute('1')).changes[0], /cancelled/);
});

test('ops are called from the code, and require and import work', async () => {
  const one = agent('ops');
  const title = await one.value(`
    await op('navigate', { url: ${JSON.stringify(at.site.url('/form'))} });
    const { data } = await op('evaluate', { expression: 'document.title' });
    const { basename } = await import('node:path');
    return [data.value, basename('/a/b'), require('node:os').EOL, typeof require('playwright-core').chromium.launch];`);
  assert.deepEqual(title, ['form', 'b', '\n', 'function']);
  const self = await one.refused('execute', { code: 'op("execute", {code: "1"})' });
  assert.match(self.message, /cannot be called by code that runs in it.*\nat .*code:1:/);
  const unknown = await one.value('try { await op("nothing") } catch (error) { return error.code }');
  assert.equal(unknown, 'no_such_op');
});

test('snapshot() gives the page as the op does', async () => {
  const one = agent('looks');
  assert.match(await one.value(`${begins('looks')} return snapshot()`), /heading "Form"/);
});

test('a dialog in the code\'s page is dismissed as Playwright does, and other agents\' stay open', async () => {
  const [one, two] = [agent('dialogs'), agent('listens')];
  await one.op('navigate', { url: at.site.url('/alert') });
  const { result, logs } = await one.execute('await page.click("button"); return page.title()');
  assert.equal(result, 'false');
  assert.match(logs[0].text, /dialog \(confirm\) was dismissed: sure\?/);
  assert.equal(await one.value(`
    page.once('dialog', (dialog) => dialog.accept());
    await page.click('button');
    return page.title()`), 'true');
  // While the other one's code runs, and is connected to all tabs; in the moment in which it connects, Playwright would dismiss the dialog.
  await two.execute('1');
  const waiting = two.execute('await page.waitForTimeout(1500)');
  const open = one.value(`
    const asked = page.waitForEvent('dialog');
    page.click('button').catch(() => {});
    const dialog = await asked;
    await page.waitForTimeout(700);
    await dialog.accept();
    return page.title()`);
  assert.equal(await open, 'true');
  await waiting;
});

test('after the browser was restarted the code has a new one, and its state', async () => {
  const one = agent('again');
  await one.execute('state.n = 1');
  await at.target.home.json('restart');
  assert.deepEqual(await one.value('[state.n, browser.isConnected(), page.url()]'), [1, true, 'about:blank']);
});

test('neither the arguments nor the environment of the process hold the token', async () => {
  await agent('secret').execute('0');
  const found = nodes(at.target.home);
  assert.ok(found.length > 0);
  for (const { pid, command } of found) {
    assert.ok(!command.includes(rest.token));
    assert.ok(!(await readFile(`/proc/${pid}/environ`, 'latin1')).includes(rest.token));
  }
});

test('no process stays when the hub leaves or is killed while code is in a loop', async () => {
  for (const how of ['end', 'kill']) {
    const home = await Home.make();
    try {
      const hub = await home.serve();
      const rest = await Rest.of(hub);
      const running = new Coder(rest, 'one').execute(`${begins(how)} for (;;);`).catch(() => {});
      await begun(how, rest);
      const [{ pid }] = nodes(home);
      await hub[how]();
      await running;
      await gone(pid, 5_000);
    } finally {
      await home.cleanup();
    }
  }
});

test('without Node or Playwright the error says what to install, and other ops work', async () => {
  const bin = await mkdtemp(join(tmpdir(), 'bowline-e2e-bin-'));
  const home = await Home.make({ PATH: bin });
  try {
    let hub = await home.serve();
    let one = new Coder(await Rest.of(hub), 'one');
    const noNode = await one.refused('execute', { code: '1' });
    assert.equal(noNode.code, 'missing');
    assert.match(noNode.message, /needs Node.js 18 or newer: there is no `node`/);
    assert.equal((await one.op('navigate', { url: at.site.url('/form') })).url, at.site.url('/form'));
    assert.equal((await one.op('reset')).reset, false);
    await hub.end();

    await symlink(process.execPath, join(bin, 'node'));
    hub = await home.serve({ cwd: home.root });
    one = new Coder(await Rest.of(hub), 'one');
    const noPlaywright = await one.refused('execute', { code: '1' });
    assert.equal(noPlaywright.code, 'missing');
    assert.match(noPlaywright.hint, /npm install -g playwright-core/);
    assert.ok(noPlaywright.looked.includes(home.root));

    // It is found in the user's home, once it is there.
    await mkdir(join(home.root, 'node_modules'));
    await symlink(join(E2E, 'node_modules/playwright-core'), join(home.root, 'node_modules/playwright-core'));
    assert.equal(await one.value('page.url()'), 'about:blank');
    await hub.end();
  } finally {
    await home.cleanup();
    await rm(bin, { recursive: true });
  }
});

test('in a person\'s own browser it works in a tab of the agent\'s', async () => {
  const own = await Own.start({ pages: [at.site.url('/form')] });
  try {
    const one = new Coder(own.rest, 'guest', own.name);
    const { result } = await one.execute(`await page.goto(${JSON.stringify(at.site.url('/alert'))}); return page.title()`);
    assert.equal(result, 'alert');
    assert.ok((await own.targets()).some(({ url }) => url === at.site.url('/form')), 'the person\'s page stays');
  } finally {
    await own.stop();
  }
});
