// The recorder hears everything from the first moment of a page or worker, however it came to be; and
// whoever prepares pages before they run still does.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { http } from './lib/http.mjs';
import { Rest } from './lib/rest.mjs';
import { html, js } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { until } from './lib/until.mjs';

const ROUNDS = 4;

/** Its first script says what was there before it. */
const first = (title) => `<!doctype html><script>console.log('first', location.search, window.early ?? 'nothing');</script>
  <title>${title}</title><script>fetch('/api' + location.search).then((r) => r.text());</script>`;

const worker = (kind) => js(`console.log('first', '${kind}', location.search); fetch('/api?of=${kind}&' + location.search.slice(1)).then((r) => r.text());`);

const pages = {
  '/first': first('first'),
  '/openers': html('openers', '<a id=blank target=_blank href="/first?blank">blank</a>'),
  '/framed': (url) => html('framed', `<iframe src="http://localhost:${url.port}/first?${url.search.slice(1)}"></iframe>`),
  '/dedicated': (url) => html('dedicated', '', `new Worker('/dedicated.js${url.search}');`),
  '/dedicated.js': worker('dedicated'),
  '/nested': (url) => html('nested', '', `new Worker('/outer.js${url.search}');`),
  '/outer.js': js(`new Worker('/dedicated.js' + location.search);`),
  '/sharing': (url) => html('sharing', '', `new SharedWorker('/sharing.js${url.search}');`),
  '/sharing.js': worker('shared'),
  '/serving': (url) => html('serving', '', `navigator.serviceWorker.register('/serving.js${url.search}');`),
  '/serving.js': worker('service'),
};

const at = fixture({
  pages,
  async open(own) {
    if (own.target.direct) return;
    own.rest = await Rest.of(own.target);
    own.playwright = await chromium.connectOverCDP(own.target.endpoint);
    [own.context] = own.playwright.contexts();
    await own.context.addInitScript('window.early = "prepared"');
    own.puppeteer = await puppeteer.connect({ browserURL: own.target.endpoint });
    own.cdp = await Cdp.connect(own.target.ws);
  },
  async close(own) {
    await own.playwright?.close();
    await own.puppeteer?.disconnect();
    await own.cdp?.close();
  },
});

/** The tab that shows this path, as the hub lists it. */
const tabOf = (path) => until(`a tab with ${path}`, async () =>
  (await at.rest.tabs()).find(({ url }) => url.endsWith(path)));

/** What must be recorded of `/first?WORD`: its first request, its first line, its first fetch. */
async function recordedWhole(tab, word) {
  const line = await at.rest.line(tab, `first ?${word}`);
  assert.equal(line.text, `first ?${word} prepared`, 'the init script ran before it');
  const earlier = (await at.rest.console(tab)).filter(({ seq }) => seq < line.seq);
  assert.deepEqual(earlier, [], 'nothing comes before the first line');
  const document = await at.rest.finished(tab, `/first?${word}`);
  assert.deepEqual([document.method, document.status, document.type, document.state],
    ['GET', 200, 'Document', 'finished']);
  const fetched = await at.rest.finished(tab, `/api?${word}`);
  assert.equal(fetched.status, 200);
  const asked = at.site.requests.filter((request) => request.endsWith(`?${word}`));
  assert.deepEqual(asked, [`GET /first?${word}`, `GET /api?${word}`], 'each was asked for once');
}

/** Opens tabs in one way, again and again. */
async function rounds(name, open) {
  for (let i = 0; i < ROUNDS; i++) {
    const word = `${name}-${i}`;
    await open(`/first?${word}`);
    const { id } = await tabOf(`/first?${word}`);
    await recordedWhole(id, word);
    await at.rest.post('/browsers/default/execute', { method: 'Target.closeTarget', params: { targetId: id } });
  }
}

test('a tab of window.open is recorded from its first line and request', hubOnly, async () => {
  const page = await at.context.newPage();
  await page.goto(at.site.url('/openers'));
  await rounds('open', async (path) => { await page.evaluate((to) => void window.open(to), path); });
  await rounds('noopener', async (path) => { await page.evaluate((to) => void window.open(to, '', 'noopener'), path); });
  await page.close();
});

test('a tab of a click on target=_blank is recorded from its first line and request', hubOnly, async () => {
  const page = await at.context.newPage();
  await page.goto(at.site.url('/openers'));
  await rounds('blank', async (path) => {
    await page.evaluate((to) => { document.querySelector('#blank').href = to; }, path);
    await page.click('#blank');
  });
  await page.close();
});

test('a tab of Playwright\'s newPage and goto is recorded from its first line and request', hubOnly, () =>
  rounds('playwright', async (path) => {
    const page = await at.context.newPage();
    await page.goto(at.site.url(path));
  }));

test('a tab of Playwright\'s newContext is recorded from its first line and request', hubOnly, async () => {
  const context = await at.playwright.newContext();
  await context.addInitScript('window.early = "prepared"');
  await rounds('context', async (path) => {
    const page = await context.newPage();
    await page.goto(at.site.url(path));
  });
  await context.close();
});

test('a tab of Puppeteer\'s newPage and goto is recorded from its first line and request', hubOnly, () =>
  rounds('puppeteer', async (path) => {
    const page = await at.puppeteer.newPage();
    await page.goto(at.site.url(path));
  }));

test('a tab of Target.createTarget with an address is recorded from its first line and request', hubOnly, () =>
  rounds('create', async (path) => {
    await at.cdp.send('Target.createTarget', { url: at.site.url(path) });
  }));

test('a tab of PUT /json/new is recorded from its first line and request', hubOnly, () =>
  rounds('new', async (path) => {
    const { status } = await http(at.target.endpoint, `/json/new?${at.site.url(path)}`, { method: 'PUT' });
    assert.equal(status, 200);
  }));

test('a tab that only the hub looks at is recorded from its first line and request', hubOnly, async () => {
  // No client of this second browser attaches to anything.
  const { endpoint } = await at.target.home.json('launch', 'alone');
  for (let i = 0; i < ROUNDS; i++) {
    const { status } = await http(endpoint, `/json/new?${at.site.url(`/first?alone-${i}`)}`, { method: 'PUT' });
    assert.equal(status, 200);
    const line = await until('its first line', async () =>
      (await at.rest.console(undefined, {}, 'alone')).find(({ text }) => text.includes(`alone-${i}`)));
    assert.equal(line.text, `first ?alone-${i} nothing`);
    const requests = (await at.rest.network(undefined, {}, 'alone')).filter(({ url }) => url.endsWith(`/first?alone-${i}`));
    assert.deepEqual(requests.map(({ type, tab }) => [type, tab]), [['Document', line.tab]]);
  }
  await at.target.home.json('stop', 'alone', '--forget');
});

test('a cross-origin frame is recorded with its tab, from its first line and request', hubOnly, async () => {
  for (let i = 0; i < ROUNDS; i++) {
    const page = await at.context.newPage();
    await page.goto(at.site.url(`/framed?frame-${i}`));
    const { id } = await tabOf(`/framed?frame-${i}`);
    const line = await at.rest.line(id, `first ?frame-${i}`);
    assert.equal(line.text, `first ?frame-${i} prepared`, 'the init script ran before it');
    assert.equal(line.tab, id);
    assert.deepEqual(line.origin, { type: 'iframe', url: `${at.site.other}/first?frame-${i}` });
    assert.ok(line.frame && line.frame !== id, 'it says which frame');
    const document = await at.rest.finished(id, `${at.site.other}/first?frame-${i}`);
    assert.deepEqual([document.type, document.status, document.tab], ['Document', 200, id]);
    assert.equal((await at.rest.finished(id, `${at.site.other}/api?frame-${i}`)).status, 200);
    const seen = (await at.rest.network(id)).map(({ url }) => url).filter((url) => url.includes(`?frame-${i}`));
    assert.deepEqual(seen.toSorted(), [
      `${at.site.origin}/framed?frame-${i}`, `${at.site.other}/api?frame-${i}`, `${at.site.other}/first?frame-${i}`,
    ], 'nothing is recorded twice');
    await page.close();
  }
});

for (const [path, kind, script] of [
  ['/dedicated', 'worker', '/dedicated.js'],
  ['/nested', 'worker', '/dedicated.js'],
  ['/sharing', 'shared_worker', '/sharing.js'],
  ['/serving', 'service_worker', '/serving.js'],
]) {
  test(`a ${kind} of ${path} is recorded from its first line, with its script and its fetch`, hubOnly, async () => {
    const of = { worker: 'dedicated', shared_worker: 'shared', service_worker: 'service' }[kind];
    for (let i = 0; i < ROUNDS; i++) {
      const page = await at.context.newPage();
      const word = `${path.slice(1)}-${i}`;
      await page.goto(at.site.url(`${path}?${word}`));
      const { id } = await tabOf(`${path}?${word}`);
      // Asked of the page: what its workers say is part of it.
      const line = await at.rest.line(id, word);
      assert.equal(line.text, `first ${of} ?${word}`);
      assert.deepEqual(line.origin, { type: kind, url: at.site.url(`${script}?${word}`) });
      const fetched = await at.rest.finished(id, `/api?of=${of}&${word}`);
      assert.equal(fetched.status, 200);
      assert.equal(fetched.origin?.type, kind);
      const loaded = await at.rest.finished(id, `${script}?${word}`);
      // Of a service worker's script Chromium itself does not always tell the answer: it is fetched before
      // the worker has a process that could hear Network.enable.
      if (kind !== 'service_worker') assert.equal(loaded.status, 200, 'the request for its script');
      assert.equal(loaded.state, 'finished');
      const all = (await at.rest.network(id)).filter(({ url }) => url.includes(word)).map(({ url }) => new URL(url).pathname);
      const expected = [path, ...path === '/nested' ? ['/outer.js'] : [], script, '/api'];
      assert.deepEqual(all.toSorted(), expected.toSorted(), 'nothing is recorded twice');
      await page.close();
    }
  });
}
