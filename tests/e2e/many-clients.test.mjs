// Several clients on one browser, none of which may notice the others.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { Cdp } from './lib/cdp.mjs';
import { E2E, hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { gone, signal } from './lib/processes.mjs';
import { test } from './lib/test.mjs';
import { timed, until, within } from './lib/until.mjs';

const at = fixture();

test('two Playwrights and a Puppeteer work at once without disturbing each other', async () => {
  const { endpoint } = at.target;
  const playwrights = await Promise.all([chromium.connectOverCDP(endpoint), chromium.connectOverCDP(endpoint)]);
  const pup = await puppeteer.connect({ browserURL: endpoint, defaultViewport: null });

  const playwrightRound = async (browser, name) => {
    const context = await browser.newContext({ extraHTTPHeaders: { 'x-client': name } });
    await context.addInitScript(`window.owner = ${JSON.stringify(name)}`);
    const page = await context.newPage();
    await page.route('**/api', (route) => route.fulfill({ json: { from: name } }));
    const seen = [];
    page.on('console', (message) => seen.push(message.text()));
    for (let i = 0; i < 10; i++) {
      await page.goto(at.site.url(`/popups?${name}${i}`));
      assert.equal(await page.evaluate(() => window.owner), name);
      assert.equal((await page.evaluate(() => fetch('/api').then((r) => r.json()))).from, name);
      assert.equal((await page.evaluate(() => fetch('/echo').then((r) => r.json()))).headers['x-client'], name);
      await page.evaluate((text) => console.log(text), `${name} ${i}`);
      const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#open')]);
      await popup.waitForURL('**/two?popup');
      assert.equal(await popup.evaluate(() => window.owner), name);
      await popup.close();
    }
    assert.deepEqual(seen, Array.from({ length: 10 }, (_, i) => `${name} ${i}`));
    assert.equal(context.pages().length, 1);
    await context.close();
  };

  const puppeteerRound = async () => {
    const context = await pup.createBrowserContext();
    const page = await context.newPage();
    await page.setRequestInterception(true);
    page.on('request', (request) => (request.url().endsWith('/api')
      ? request.respond({ contentType: 'application/json', body: '{"from":"pup"}' })
      : request.continue()));
    for (let i = 0; i < 10; i++) {
      await page.goto(at.site.url(`/frames?pup${i}`));
      assert.equal((await page.evaluate(() => fetch('/api').then((r) => r.json()))).from, 'pup');
      assert.equal(await page.evaluate(() => window.owner), undefined);
      const frame = await page.waitForFrame((f) => f.url().startsWith(at.site.other));
      await (await frame.waitForSelector('#hit')).click();
    }
    await context.close();
  };

  await Promise.all([
    playwrightRound(playwrights[0], 'one'), playwrightRound(playwrights[1], 'two'), puppeteerRound(),
  ]);
  await playwrights[0].close();
  assert.equal(playwrights[1].isConnected(), true, 'close() of one is a disconnect only');
  const page = await playwrights[1].contexts()[0].newPage();
  await page.goto(at.site.url('/'));
  await page.close();
  await playwrights[1].close();
  await pup.disconnect();
});

test('clients see the same page and each answers only for its own commands', async () => {
  const [first, second] = await Promise.all([Cdp.connect(at.target.ws), Cdp.connect(at.target.ws)]);
  const { targetId, sessionId } = await first.page();
  const { sessionId: other } = await second.send('Target.attachToTarget', { targetId, flatten: true });
  assert.notEqual(other, sessionId);
  await Promise.all(Array.from({ length: 200 }, async (_, i) => {
    const [a, b] = await Promise.all([
      first.evaluate(`"first ${i}"`, sessionId), second.evaluate(`"second ${i}"`, other),
    ]);
    assert.deepEqual([a, b], [`first ${i}`, `second ${i}`]);
  }));
  await second.close();
  assert.equal(await first.evaluate('1', sessionId), 1);
  await first.close();
});

test('a client killed in mid-command leaves the others alone, and its own context goes', async () => {
  const cdp = await Cdp.connect(at.target.ws);
  await cdp.send('Target.setDiscoverTargets', { discover: true });
  const shared = await cdp.page(at.site.url('/two?shared'));
  const pending = cdp.evaluate('new Promise((resolve) => { window.finish = resolve; })', shared.sessionId);
  await until('the shared page loaded', () => cdp.evaluate('document.title === "two"', shared.sessionId));

  const victim = spawn(process.execPath,
    [join(E2E, 'lib/victim.mjs'), at.target.ws, at.site.url('/three'), shared.targetId],
    { stdio: ['ignore', 'pipe', 'inherit'] });
  const ready = new Promise((resolve) =>
    createInterface({ input: victim.stdout }).on('line', (line) => line.startsWith('READY') && resolve(line)));
  const held = JSON.parse((await within(15_000, 'the victim ready', ready)).slice(6));
  assert.equal(await cdp.evaluate('window.fetched', shared.sessionId), undefined, 'its request is held');

  signal(victim.pid, 'SIGKILL');
  await gone(victim.pid);
  await cdp.event('Target.targetDestroyed', (p) => p.targetId === held.targetId, 5_000);
  const { browserContextIds } = await cdp.send('Target.getBrowserContexts');
  assert.equal(browserContextIds.includes(held.browserContextId), false);
  await until('the held request goes on', async () =>
    (await cdp.evaluate('window.fetched', shared.sessionId)) === 'server', 5_000);
  await cdp.evaluate('window.finish("finished")', shared.sessionId);
  assert.equal(await pending, 'finished');
  await cdp.close();
});

test('a page that one client blocks does not hold up another client on another page', async () => {
  const [busy, calm] = await Promise.all([Cdp.connect(at.target.ws), Cdp.connect(at.target.ws)]);
  const blocked = await busy.page(at.site.url('/two'));
  const free = await calm.page(`${at.site.other}/two`);
  await until('both loaded', async () => (await busy.evaluate('document.title', blocked.sessionId)) === 'two'
    && (await calm.evaluate('document.title', free.sessionId)) === 'two');
  const blocking = busy.evaluate('{ const end = Date.now() + 1500; while (Date.now() < end); }', blocked.sessionId);
  const { ms } = await timed(() => calm.evaluate('1', free.sessionId));
  assert.ok(ms < 1_000, `${ms} ms`);
  await blocking;
  await Promise.all([busy.close(), calm.close()]);
});

test('the status counts the clients that are connected', hubOnly, async () => {
  const clients = await Promise.all([1, 2, 3].map(() => Cdp.connect(at.target.ws)));
  assert.equal((await at.target.home.status()).browser.clients, 3);
  await Promise.all(clients.map((client) => client.close()));
  await until('no client left', async () => (await at.target.home.status()).browser.clients === 0);
});
