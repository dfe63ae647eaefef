// The history outlives the hub: what a kill may cost, what is never given out twice, what never gets
// to the disk, and a disk that does not take it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, open, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe } from 'node:test';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { withHome } from './lib/life.mjs';
import { alive, gone } from './lib/processes.mjs';
import { Rest } from './lib/rest.mjs';
import { html } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { until } from './lib/until.mjs';

const at = fixture({
  target: false,
  pages: {
    '/secrets': { headers: { 'set-cookie': 'sid=c00kie-s3cret; Path=/; HttpOnly' }, body: html('secrets', '') },
    '/refuses': { status: 401, headers: { 'set-cookie': 's3cret-alone', 'www-authenticate': 'Bearer' }, body: 'no' },
  },
});

/** A hub of this home with a client, a page and the API. */
async function begin(home, options) {
  const hub = await home.serve(options);
  const rest = await Rest.of(hub);
  return {
    hub,
    rest,
    /** A blank page makes no requests, so that every number is a line's. */
    async page(url = 'about:blank') {
      this.cdp ??= await Cdp.connect(hub.endpoint);
      const { targetId: id, sessionId } = await this.cdp.page(url);
      return { id, run: (code) => this.cdp.evaluate(code, sessionId) };
    },
    kept: async () => (await rest.get('/status')).recorder,
  };
}

const dataDir = (home) => join(home.data, 'bowline');
const historyFiles = async (home) => (await readdir(dataDir(home))).filter((name) => name.startsWith('history'));

const lines = (messages) => messages.map(({ text }) => text);
const numbered = (count) => Array.from({ length: count }, (_, i) => `line ${i}`);

describe('durability', { concurrency: 2 }, () => {
  for (const count of [3, 2_000]) {
    test(`a hub that is killed after ${count} lines has lost at most the last second, and knows how many`, hubOnly, () => withHome(async (home) => {
      const first = await begin(home);
      const page = await first.page();
      // Some before and some now, so that there is something to lose and something to keep.
      await page.run(`new Promise((done) => { let i = 0; const say = () => { for (let n = 0; n < ${Math.ceil(count / 150)} && i < ${count}; n++) console.log('line ' + i++);
        if (i < ${count}) setTimeout(say, 5); else done(); }; say(); })`);
      const before = await until('the hub has heard all', async () => {
        const history = await first.rest.get('/browsers/default/console');
        return history.total === count && history;
      });
      const killed = Date.now();
      await first.hub.kill();
      assert.equal(before.latest, count, 'only lines have numbers here');

      const second = await begin(home);
      const after = await second.rest.get('/browsers/default/console');
      assert.equal(after.messages.length + after.lost, count, `${after.messages.length} shown and ${after.lost} lost`);
      assert.deepEqual(lines(after.messages), numbered(after.messages.length), 'the first of them, each once');
      const early = before.messages.filter(({ timestamp }) => timestamp < killed - 1_000).length;
      assert.ok(after.messages.length >= early, `${early} are older than a second, ${after.messages.length} were kept`);
      assert.equal((await second.kept()).lost, after.lost);
      assert.ok(after.latest >= before.latest, 'numbers go on');
      const next = await second.page();
      await next.run('console.log("after the kill")');
      const { seq } = await second.rest.line(next.id, 'after the kill');
      assert.ok(seq > before.latest, `${seq} after ${before.latest}`);
    }, { BOWLINE_RECORDER_MAX_CONSOLE: '10000' }));
  }

  test('a hub that is killed while pages talk gives out no number twice', hubOnly, () => withHome(async (home) => {
    const seen = new Map();
    for (let round = 0; round < 3; round++) {
      const begun = await begin(home);
      const { hub, rest } = begun;
      const page = await begun.page(at.site.url('/'));
      await page.run(`setInterval(() => { for (let i = 0; i < 20; i++) console.log('round ${round}') }, 1); void 0`);
      const stream = await rest.follow('/browsers/default/console', { since: Math.max(0, ...seen.keys()) });
      await until('enough', () => stream.of('console').filter(({ text }) => text === `round ${round}`).length > 500);
      await hub.kill();
      for (const { seq, text } of stream.of('console')) {
        assert.ok(!seen.has(seq) || seen.get(seq) === text, `${seq} was ${seen.get(seq)}, is ${text}`);
        seen.set(seq, text);
      }
    }
  }, { BOWLINE_RECORDER_MAX_CONSOLE: '100000', BOWLINE_RECORDER_MAX_CONSOLE_BYTES: '64MiB' }));

  // Nothing but the files themselves tells that a record has been written.
  const written = (home, text) => until(`${text} is written`, async () => {
    const texts = await Promise.all((await historyFiles(home)).map((name) => readFile(join(dataDir(home), name), 'latin1')));
    return texts.some((all) => all.includes(text));
  });

  test('a request that was under way when the hub was killed has ended for the next one', hubOnly, () => withHome(async (home) => {
    const first = await begin(home);
    const page = await first.page(at.site.url('/'));
    await until('loaded', () => page.run('document.title === "home"'));
    await page.run('void fetch("/hang?under-way")');
    await first.rest.request(page.id, '/hang?under-way');
    await written(home, '/hang?under-way');
    await first.hub.kill();
    const second = await begin(home);
    const record = await second.rest.request(page.id, '/hang?under-way');
    assert.deepEqual([record.state, record.loadingFinished, record.failure?.errorText], ['failed', true, 'the hub ended']);
  }));

  test('of requests, too, as many are said to be lost as are missing', hubOnly, () => withHome(async (home) => {
    const first = await begin(home);
    const page = await first.page(at.site.url('/'));
    await until('loaded', () => page.run('document.title === "home"'));
    await page.run('(async () => { for (let i = 0; i < 10; i++) await fetch("/api?" + i).then((r) => r.text()); })()');
    await first.rest.finished(page.id, '/api?9');
    // The last that the page does by itself, at its leisure.
    await first.rest.finished(page.id, '/favicon.ico');
    await first.rest.line(page.id, 'Failed to load resource: the server responded with a status of 404 (Not Found)');
    const all = async ({ rest }) => (await rest.network()).length + (await rest.get('/browsers/default/console')).messages.length;
    const before = await all(first);
    await first.hub.kill();
    const second = await begin(home);
    const [after, { lost }] = [await all(second), await second.rest.get('/browsers/default/network')];
    assert.equal(after + lost, before, `${after} shown and ${lost} lost`);
  }));

  test('a hub that ends in order loses nothing', hubOnly, () => withHome(async (home) => {
    const first = await begin(home);
    const page = await first.page(at.site.url('/console'));
    await first.rest.line(page.id, 'broken');
    await first.rest.finished(page.id, '/console');
    // The last that the page does by itself, at its leisure.
    await first.rest.finished(page.id, '/favicon.ico');
    await first.rest.line(page.id, 'Failed to load resource: the server responded with a status of 404 (Not Found)');
    await page.run('for (let i = 0; i < 500; i++) console.log("line " + i)');
    await first.rest.line(page.id, 'line 499');
    const before = [await first.rest.get('/browsers/default/console'), await first.rest.get('/browsers/default/network')];
    await first.hub.end();

    const second = await begin(home);
    const after = [await second.rest.get('/browsers/default/console'), await second.rest.get('/browsers/default/network')];
    assert.deepEqual(lines(after[0].messages), lines(before[0].messages));
    // In order too: what was under way has been given up, nothing else has changed.
    const what = ({ requests }) => requests.map(({ seq, url, method, status, headers, responseHeaders, timing }) =>
      ({ seq, url, method, status, headers, responseHeaders, timing }));
    assert.deepEqual(what(after[1]), what(before[1]));
    assert.deepEqual([after[0].lost, (await second.kept()).kept_in], [0, 'disk']);
    const [tab] = (await second.rest.tabs({ closed: 1 })).filter(({ id }) => id === page.id);
    assert.deepEqual([tab.open, tab.title, tab.url], [false, 'console', at.site.url('/console')]);
    assert.ok(tab.reason, 'it says why it is closed');
    const gone = await second.rest.refused('GET', `${second.rest.scope(page.id)}/network/${after[1].requests[0].seq}/body`);
    assert.deepEqual([gone.status, gone.code], [404, 'body_gone']);
    assert.deepEqual(home.browsers(), [], 'a look at the history launches nothing');
  }));

  test('the files of the history are their owner\'s alone', hubOnly, () => withHome(async (home) => {
    const begun = await begin(home);
    const page = await begun.page();
    await page.run('console.log("private")');
    await begun.rest.line(page.id, 'private');
    const names = await historyFiles(home);
    assert.ok(names.includes('history.db') && names.includes('history.count'), names.join(' '));
    for (const name of names) {
      assert.equal((await stat(join(dataDir(home), name))).mode & 0o777, 0o600, name);
    }
    assert.equal((await stat(dataDir(home))).mode & 0o777, 0o700);
  }));

  test('no cookie and no token gets to the disk or into the log', hubOnly, () => withHome(async (home) => {
    // Started by a command, so that its log is a file.
    await home.json('launch');
    const { pid, browser } = await home.status();
    const rest = await Rest.of({ home });
    const cdp = await Cdp.connect(browser.endpoint);
    const { targetId, sessionId } = await cdp.page(at.site.url('/secrets'));
    await until('loaded', () => cdp.evaluate('document.title === "secrets"', sessionId));
    await cdp.evaluate(`fetch('/echo', { headers: { Authorization: 'Bearer b3arer-s3cret' } }).then((r) => r.text())`, sessionId);
    await cdp.evaluate(`fetch('/refuses', { headers: { Authorization: 's3cret-without-scheme' } }).then((r) => r.text())`, sessionId);
    const shown = await rest.finished(targetId, '/echo', { reveal: 1 });
    assert.match(JSON.stringify(shown.headers), /sid=c00kie-s3cret/, 'the hub itself knows it');
    assert.match(JSON.stringify(shown.headers), /b3arer-s3cret/);
    await rest.finished(targetId, '/refuses');
    await home.json('shutdown');
    await gone(pid);
    const files = [];
    for (const dir of [home.data, home.state, home.runtime]) {
      for (const name of await readdir(dir, { recursive: true })) {
        const path = join(dir, name);
        if ((await stat(path)).isFile()) files.push(path);
      }
    }
    assert.ok(files.some((path) => path.endsWith('history.db')) && files.some((path) => path.endsWith('.log')), files.join('\n'));
    const texts = await Promise.all(files.map((path) => readFile(path, 'latin1')));
    assert.ok(texts.some((text) => text.includes('[redacted]')), 'it was written');
    // Not with assert.match: the whole file would be in the message.
    assert.deepEqual(files.filter((_, i) => texts[i].includes('s3cret')), []);
  }, { BOWLINE_LOG: 'trace' }));

  test('with history.persist off no file of the history is written, and a new hub remembers nothing', hubOnly, () => withHome(async (home) => {
    const first = await begin(home);
    const page = await first.page();
    await page.run('console.log("in memory")');
    const { seq } = await first.rest.line(page.id, 'in memory');
    assert.equal((await first.kept()).kept_in, 'memory');
    await first.hub.end();
    assert.deepEqual(await historyFiles(home).catch(() => []), []);
    const second = await begin(home);
    assert.deepEqual(await second.rest.console(), []);
    const next = await second.page();
    await next.run('console.log("next")');
    assert.ok((await second.rest.line(next.id, 'next')).seq > seq, 'its numbers are not those of before all the same');
  }, { BOWLINE_HISTORY_PERSIST: 'false' }));

  test('a file that is no history is set aside, and a new one is begun', hubOnly, () => withHome(async (home) => {
    await mkdir(dataDir(home), { recursive: true, mode: 0o700 });
    const rubbish = Buffer.alloc(20_000, 'no history at all ');
    await writeFile(join(dataDir(home), 'history.db'), rubbish);
    const first = await begin(home);
    assert.equal((await first.kept()).kept_in, 'disk');
    assert.ok(rubbish.equals(await readFile(join(dataDir(home), 'history.damaged'))), 'it is kept');
    const page = await first.page();
    await page.run('console.log("recorded")');
    await first.rest.line(page.id, 'recorded');
    await first.hub.end();
    const second = await begin(home);
    assert.deepEqual(lines(await second.rest.console()), ['recorded']);
  }));

  test('a history that is damaged in the middle keeps no hub from starting', hubOnly, () => withHome(async (home) => {
    const first = await begin(home);
    const page = await first.page();
    // More than SQLite keeps in its log.
    await page.run('for (let i = 0; i < 900; i++) console.log("line " + i + "x".repeat(3500))');
    await first.rest.line(page.id, 'line 899');
    await first.hub.end();
    const path = join(dataDir(home), 'history.db');
    const { size } = await stat(path);
    assert.ok(size > 100_000, `${size}`);
    const file = await open(path, 'r+');
    await file.write(Buffer.alloc(size - 8192, 0xa5), 0, size - 8192, 4096);
    await file.close();
    const second = await begin(home);
    const next = await second.page();
    await next.run('console.log("goes on")');
    await second.rest.line(next.id, 'goes on');
    assert.equal((await second.kept()).kept_in, 'disk');
    await second.hub.end();
    const third = await begin(home);
    assert.ok(lines(await third.rest.console()).includes('goes on'));
  }));

  test('a disk that is full costs nothing but durability; what was written before stays', hubOnly, (t) => withHome(async (home) => {
    await mkdir(dataDir(home), { recursive: true, mode: 0o700 });
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=400k,mode=700', 'bowline-e2e', dataDir(home)], { encoding: 'utf8' });
    if (mounted.status !== 0) return t.skip(`no tmpfs can be mounted here: ${mounted.stderr ?? mounted.error}`);
    try {
      const first = await begin(home);
      const page = await first.page();
      await page.run('for (let i = 0; i < 20; i++) console.log("line " + i)');
      await first.rest.line(page.id, 'line 19');
      await first.hub.end();

      const second = await begin(home);
      const filler = await second.page();
      await filler.run('for (let i = 0; i < 400; i++) console.log("filler " + i + "x".repeat(2000))');
      await second.rest.line(filler.id, 'filler 399');
      const degraded = await until('degraded', async () => {
        const kept = await second.kept();
        return kept.kept_in === 'degraded' && kept;
      });
      assert.match(degraded.reason, /full/);
      assert.match((await home.run(['status'])).stdout, /full|degraded|memory/i, 'a person is told too');
      await filler.run('console.log("goes on in memory")');
      await second.rest.line(filler.id, 'goes on in memory');
      assert.equal((await second.rest.console(filler.id)).length, 401);
      assert.ok(alive(second.hub.pid));
      await second.hub.end();

      const third = await begin(home);
      const kept = lines(await third.rest.console());
      assert.deepEqual(kept.slice(0, 20), numbered(20), 'what was written before');
      await third.hub.end();
    } finally {
      spawnSync('umount', ['-l', dataDir(home)]);
    }
  }));
});
