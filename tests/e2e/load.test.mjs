// Amounts: tabs, connections, frames, bytes, and a client that does not read.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { test } from './lib/test.mjs';
import { pooled, timed, within } from './lib/until.mjs';

const at = fixture();
const MB = 1024 * 1024;

test('half a million frames with the same ids over 32 clients reach the right client', { timeout: 90_000 }, async () => {
  const CLIENTS = 32;
  const COMMANDS = 250_000;
  const WINDOW = 64;
  const each = Math.ceil(COMMANDS / CLIENTS);
  const clients = await pooled(Array.from({ length: CLIENTS }).keys(), 8, async (index) => {
    const cdp = await Cdp.connect(at.target.ws);
    // Some have a page as well: there the same ids are in use on a second session.
    const page = index % 8 === 0 ? await cdp.page() : undefined;
    if (page) await cdp.evaluate(`window.owner${index} = ${index}`, page.sessionId);
    return { cdp, page, index };
  });

  /** One client's share: ids 1, 2, 3... in every client, and every answer names its sender. */
  const drive = ({ cdp, page, index }) => new Promise((resolve, reject) => {
    const { socket } = cdp;
    const open = new Map();
    let next = 1;
    let done = 0;
    const refill = () => {
      while (next <= each && open.size < WINDOW) {
        const id = next++;
        const onPage = page !== undefined && id % 16 === 0;
        open.set(id, onPage);
        socket.send(onPage
          ? `{"id":${id},"method":"Runtime.evaluate","params":{"expression":"window.owner${index} * 1e6 + ${id}"},"sessionId":"${page.sessionId}"}`
          : `{"id":${id},"method":"Echo.c${index}n${id}"}`);
      }
    };
    socket.removeAllListeners('message');
    socket.on('message', (data) => {
      const { id, result, error, sessionId } = JSON.parse(data);
      const onPage = open.get(id);
      const right = onPage
        ? sessionId === page.sessionId && result?.result.value === index * 1e6 + id
        : onPage !== undefined && sessionId === undefined && error?.message === `'Echo.c${index}n${id}' wasn't found`;
      if (!right) return reject(new Error(`client ${index} got ${data}`));
      open.delete(id);
      if (++done === each) resolve();
      else if (open.size < WINDOW / 2) refill();
    });
    cdp.closed.then(({ code, reason }) => reject(new Error(`client ${index} closed: ${code} ${reason}`)));
    refill();
  });

  const { ms } = await timed(() => Promise.all(clients.map(drive)));
  console.log(`# ${Math.round((COMMANDS / ms) * 1000)} commands a second`);
  await Promise.all(clients.map(({ cdp }) => cdp.close()));
});

test('one hundred tabs can be opened, driven and closed', { timeout: 90_000 }, async () => {
  const cdp = await Cdp.connect(at.target.ws);
  const { browserContextId } = await cdp.send('Target.createBrowserContext', { disposeOnDetach: true });
  const tabs = await pooled(Array.from({ length: 100 }).keys(), 8, (i) =>
    cdp.send('Target.createTarget', { url: at.site.url(`/two?tab${i}`), browserContextId }));
  const browser = await chromium.connectOverCDP(at.target.endpoint, { timeout: 60_000 });
  const pages = browser.contexts().flatMap((context) => context.pages())
    .filter((page) => page.url().includes('/two?tab'));
  assert.equal(pages.length, 100);
  const urls = await pooled(pages, 10, (page) => page.evaluate(() => location.search));
  assert.deepEqual(urls.sort(), tabs.map((_, i) => `?tab${i}`).sort());
  await browser.close();
  const { targetInfos } = await cdp.send('Target.getTargets');
  assert.equal(targetInfos.filter((t) => t.browserContextId === browserContextId && t.type === 'page').length, 100);
  await cdp.close();
});

test('a thousand idle connections are held while one works', { timeout: 60_000 }, async () => {
  const idle = await pooled(Array.from({ length: 1_000 }), 8, () => Cdp.connect(at.target.ws));
  const cdp = await Cdp.connect(at.target.ws);
  const { sessionId } = await cdp.page();
  const { ms } = await timed(async () => {
    for (let i = 0; i < 100; i++) assert.equal(await cdp.evaluate(String(i), sessionId), i);
  });
  assert.ok(ms / 100 < 100, `${ms / 100} ms for each command`);
  assert.deepEqual(idle.flatMap((client) => client.events), [], 'nobody got what was not theirs');
  for (const client of [idle[0], idle[499], idle[999]]) {
    assert.ok((await client.send('Browser.getVersion')).product);
  }
  await Promise.all(idle.map((client) => client.close()));
  await cdp.close();
});

for (const [size, name] of [[5 * MB, '5 MB'], [64 * MB, '64 MB']]) {
  test(`a message of ${name} goes in unharmed`, { timeout: 60_000 }, async () => {
    const cdp = await Cdp.connect(at.target.ws);
    const { sessionId } = await cdp.page();
    const text = 'knot'.repeat(size / 4);
    assert.equal(await cdp.evaluate(`"${text}".length`, sessionId), size);
    await cdp.close();
  });
}

for (const [size, name] of [[5 * MB, '5 MB'], [200 * MB, '200 MB']]) {
  test(`a message of ${name} comes out unharmed`, { timeout: 60_000 }, async () => {
    const cdp = await Cdp.connect(at.target.ws);
    const { sessionId } = await cdp.page();
    const text = await cdp.evaluate(`"knot".repeat(${size / 4})`, sessionId);
    assert.equal(text.length, size);
    assert.ok(text.startsWith('knotknot') && text.endsWith('knotknot'));
    assert.ok((await cdp.send('Browser.getVersion')).product, 'the connection goes on');
    await cdp.close();
  });
}

test('a client that does not read is closed with a reason while others go on', { ...hubOnly, timeout: 60_000 }, async () => {
  const [writer, sleeper, other] = await Promise.all([1, 2, 3].map(() => Cdp.connect(at.target.ws)));
  const { targetId, sessionId } = await writer.page(at.site.url('/two'));
  const { sessionId: asleep } = await sleeper.send('Target.attachToTarget', { targetId, flatten: true });
  const calm = await other.page(`${at.site.other}/two`);
  await sleeper.send('Runtime.enable', {}, asleep);
  sleeper.record = false;
  sleeper.socket.pause();

  // Far more than the 32 MiB that the hub keeps for a client, plus what the kernel holds.
  let flooding = true;
  const flood = (async () => {
    for (let i = 0; i < 100; i++) {
      await writer.evaluate('{ const s = "x".repeat(65536); for (let i = 0; i < 16; i++) console.log(s + Math.random()); }', sessionId);
    }
  })().finally(() => { flooding = false; });
  const took = [];
  while (flooding) {
    const { ms } = await timed(() => other.evaluate('1', calm.sessionId));
    took.push(ms);
  }
  await flood;
  took.sort((a, b) => a - b);
  assert.ok(took[Math.floor(took.length * 0.9)] < 250, `p90 of the other client: ${took[Math.floor(took.length * 0.9)]} ms`);

  sleeper.socket.resume();
  const { code, reason } = await within(15_000, 'the sleeper closed', sleeper.closed);
  assert.notEqual(code, 1006, 'a close frame, not a reset');
  assert.notEqual(reason, '');
  assert.equal(await writer.evaluate('1', sessionId), 1);
  await Promise.all([writer.close(), other.close()]);
});
