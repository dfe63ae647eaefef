// What MV3 and people do to it: the worker dies during traffic, the hub goes, Cancel is pressed.
import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { Browser } from './lib/browser.mjs';
import { FakeHub, newInstance, newKey } from './lib/hub.mjs';
import { test } from '../e2e/lib/test.mjs';
import { until } from '../e2e/lib/until.mjs';

let hub;
let browser;
let connections = 1;

before(async () => {
  const key = newKey();
  hub = await FakeHub.start({ key });
  browser = await Browser.start({
    preset: { hub: hub.address, instance: newInstance(), key },
    // Cancel on the infobar cannot be pressed in a headless browser; the copy lends its listener instead.
    change: (copy) => appendFile(join(copy, 'background.js'), '\nglobalThis.onDetach = debuggers.onDetach;\n'),
  });
});

after(async () => {
  await browser?.stop();
  await hub?.stop();
});

const current = () => hub.ready(connections);
const nextConnection = (ms = 10_000) => hub.ready(++connections, ms);
const stateOf = (link) => link.messages.find(({ method }) => method === 'state').params;

/** A tab that counts in its console, every 5 ms. */
async function ticking(link) {
  // In front: timers of other tabs are slowed down.
  const { tab: { tabId } } = await link.ask('createTab', { url: 'about:blank', active: true });
  await link.ask('attachTab', { tabId, sessionId: 'a' });
  await link.cdp(tabId, 'Runtime.enable');
  await link.cdp(tabId, 'Runtime.evaluate', { expression: 'var tick = 0; setInterval(() => console.log("tick", ++tick), 5)' });
  return tabId;
}

const ticks = (link, tabId) => link.messages
  .filter(({ params }) => params?.tabId === tabId && params.method === 'Runtime.consoleAPICalled')
  .map(({ params }) => params.params.args[1].value);

for (const [how, kill] of [
  ['its target is closed', () => browser.killWorker()],
  ['all workers are stopped', async () => {
    const { targetId } = await browser.page();
    const { sessionId } = await browser.cdp.send('Target.attachToTarget', { targetId, flatten: true });
    await browser.cdp.send('ServiceWorker.enable', {}, sessionId);
    await browser.cdp.send('ServiceWorker.stopAllWorkers', {}, sessionId);
    await browser.cdp.send('Target.closeTarget', { targetId });
  }],
  ['its process is killed', async () => {
    const pid = await browser.workerPid();
    process.kill(pid, 'SIGKILL');
  }],
]) {
  test(`the worker dies in traffic (${how}): it comes back, adopts, and only what was under way is lost`, async () => {
    const link = await current();
    const tabId = await ticking(link);
    const pending = link.cdp(tabId, 'Runtime.evaluate', { expression: 'new Promise(() => {})', awaitPromise: true });
    const lost = assert.rejects(pending, /gone/);
    await until('ticks', () => ticks(link, tabId).length > 5);
    await kill();
    await link.closed;
    await lost;
    const back = await nextConnection(15_000);
    assert.equal(stateOf(back).tabs.find((tab) => tab.tabId === tabId).attached, true);
    assert.equal((await back.ask('attachTab', { tabId, sessionId: 'a' })).adopted, true);
    assert.equal((await back.cdp(tabId, 'Runtime.evaluate', { expression: '1 + 1' })).result.value, 2);
    await until('ticks go on', () => ticks(back, tabId).length > 5);
    // From the first event that the new worker saw on, none is missing: the outbox had them.
    const seen = ticks(back, tabId);
    assert.deepEqual(seen, Array.from({ length: seen.length }, (_, i) => seen[0] + i));
    await back.ask('closeTab', { tabId });
  });
}

test('the hub goes and comes back: events waited in the outbox, in order', async () => {
  const link = await current();
  const tabId = await ticking(link);
  await until('ticks', () => ticks(link, tabId).length > 5);
  const { port, key } = hub;
  await hub.stop();
  const before = ticks(link, tabId).at(-1);
  await browser.inWorker('new Promise((resolve) => setTimeout(resolve, 300))');
  hub = await FakeHub.start({ key, port });
  connections = 1;
  const back = await current();
  assert.equal(stateOf(back).tabs.find((tab) => tab.tabId === tabId).attached, true);
  await until('ticks', () => ticks(back, tabId).length > 30);
  const seen = ticks(back, tabId);
  assert.ok(seen[0] - before <= 3, `from ${before} to ${seen[0]}`);
  assert.deepEqual(seen, Array.from({ length: seen.length }, (_, i) => seen[0] + i));
  await back.ask('closeTab', { tabId });
});

test('Cancel detaches all tabs and holds over a dead worker, until a new client or the person resumes', async () => {
  let link = await current();
  const from = link.messages.length;
  const tabs = [];
  for (let i = 0; i < 3; i++) {
    const { tab: { tabId } } = await link.ask('createTab', { url: 'about:blank', attach: true });
    tabs.push(tabId);
  }
  await browser.inWorker(`${tabs.map((tabId) => `onDetach({ tabId: ${tabId} }, 'canceled_by_user')`).join(';')}; 1`);
  await link.message('canceled');
  const told = link.messages.slice(from).filter(({ method }) => method === 'tabDetached' || method === 'canceled');
  assert.deepEqual(told.map(({ method, params }) => [method, params.tabId, params.reason]), [
    ...told.slice(0, 3).map(({ params }) => ['tabDetached', params.tabId, 'canceled_by_user']), ['canceled', undefined, undefined]]);
  assert.equal(link.messages.filter(({ method }) => method === 'canceled').length, 1);
  assert.deepEqual(told.slice(0, 3).map(({ params }) => params.tabId).sort(), tabs.sort());
  await assert.rejects(link.ask('attachTab', { tabId: tabs[0], sessionId: 'a' }), /cancelled/);

  await browser.killWorker();
  await link.closed;
  // A new tab wakes the worker; the alarm alone would take half a minute.
  await browser.page('about:blank');
  link = await nextConnection(15_000);
  assert.equal(stateOf(link).policy.paused, true);
  assert.ok(stateOf(link).tabs.every((tab) => !tab.attached));
  await assert.rejects(link.ask('attachTab', { tabId: tabs[0], sessionId: 'a' }), /cancelled/);
  await link.ask('attachTab', { tabId: tabs[0], sessionId: 'a', resume: true });
  await link.message('policy', (policy) => policy.paused === false);
  await link.ask('attachTab', { tabId: tabs[1], sessionId: 'a' });

  await browser.inWorker(`onDetach({ tabId: ${tabs[1]} }, 'canceled_by_user'); 1`);
  await link.message('canceled');
  const popup = await browser.popup();
  await until('paused', async () => /Paused/.test(await popup.text('#status')));
  await popup.click('#resume');
  await link.message('resumed');
  await link.ask('attachTab', { tabId: tabs[0], sessionId: 'a' });
  await popup.close();
});
