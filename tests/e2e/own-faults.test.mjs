// A person's own browser: the extension's worker dies, the hub dies, the browser goes, and tabs do what tabs do.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { Cdp } from './lib/cdp.mjs';
import { fixture } from './lib/fixture.mjs';
import { browserWs } from './lib/http.mjs';
import { Own } from './lib/own.mjs';
import { gone, processesOf, signal } from './lib/processes.mjs';
import { afterEach, beforeEach, test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

let own;
/** A browser that is closed at the beginning: the hub waits 40 s for it. */
let closed;
const at = fixture({
  target: false,
  async open() {
    closed = await Own.start();
    closed.browser = await chromium.connectOverCDP(closed.endpoint);
    closed.told = new Promise((resolve) => closed.browser.once('disconnected', resolve));
    closed.cdp = await closed.cdp();
    void closed.pipe.send('Browser.close');
    await gone(closed.pid);
    closed.asked = closed.cdp.send('Target.createTarget', { url: 'about:blank' }).then(() => 'made', (error) => error.message);
  },
  close: () => closed?.stop(),
});
beforeEach(async () => {
  own = await Own.start();
});
afterEach(() => own.stop());

/** A tab of the person's own, and a client on it. */
async function driven(path, ...domains) {
  const url = at.site.url(path);
  const targetId = await own.open(url);
  const cdp = await own.cdp();
  await cdp.send('Target.setDiscoverTargets', { discover: true });
  await own.target(cdp, url);
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
  for (const domain of domains) await cdp.send(`${domain}.enable`, {}, sessionId);
  const evaluate = (expression) => cdp.evaluate(expression, sessionId);
  await until(`${url} is loaded`, () => evaluate('document.readyState === "complete"'));
  return { url, targetId, tabId: await own.tabOf(targetId), cdp, sessionId, evaluate,
    send: (method, params) => cdp.send(method, params, sessionId) };
}

/** Another worker than this one is there, and its hub hears it. */
const reborn = ({ targetId }) => until('another worker', async () => (await own.worker()).targetId !== targetId, 20_000);

const DEATHS = {
  'is stopped': async (worker) => {
    await own.pipe.send('Target.closeTarget', { targetId: worker.targetId });
  },
  'is killed with its process': async () => {
    const { pid } = processesOf(own.root).find(({ command }) => command.includes('--extension-process'));
    signal(pid, 'SIGKILL');
    await gone(pid);
  },
  'is reloaded': async () => {
    await own.inExtension('setTimeout(() => chrome.runtime.reload(), 50); 0');
  },
};

for (const [how, kill] of Object.entries(DEATHS)) {
  test(`the extension's worker ${how} during traffic, and the clients go on`, async () => {
    const survives = how !== 'is reloaded';
    const page = await driven('/two?traffic', 'Runtime');
    await page.send('Emulation.setTimezoneOverride', { timezoneId: 'Pacific/Auckland' });
    await page.evaluate('window.n = 0; setInterval(() => console.log(n++), 20); 0');
    const { result: { objectId } } = await page.send('Runtime.evaluate', { expression: '({ kept: 42 })' });
    const said = (from) => page.cdp.event('Runtime.consoleAPICalled', ({ args }) => args[0].value > from);
    await said(3);
    const pending = page.evaluate('new Promise(() => {})').then(() => 'answered', (error) => error.message);
    const traffic = { on: true, done: 0, refused: [] };
    const running = (async () => {
      while (traffic.on) {
        await within(20_000, 'an answer, or an error', page.evaluate('1')).then(() => traffic.done++, (error) => {
          if (/not within/.test(error.message)) throw error;
          traffic.refused.push(error.message);
        });
      }
    })();
    await until('traffic', () => traffic.done > 20);

    const worker = await own.worker();
    await kill(worker);
    assert.match(await within(10_000, 'the pending command is answered', pending), /extension was restarted|detached/);
    await reborn(worker);
    const before = traffic.done;
    await until('traffic again', () => traffic.done > before + 20, 10_000);
    traffic.on = false;
    await running;
    assert.equal(await page.evaluate('document.title + Intl.DateTimeFormat().resolvedOptions().timeZone'), 'twoPacific/Auckland');
    assert.deepEqual(await own.attached(), [page.url]);
    await said(await page.evaluate('n'));
    const told = page.cdp.events.filter(({ method }) => method === 'Runtime.consoleAPICalled').map(({ params }) => params.args[0].value);
    if (survives) {
      // The debugger was never taken off: an object of before is still there, and nothing is told twice.
      const { result } = await page.send('Runtime.callFunctionOn',
        { objectId, functionDeclaration: 'function () { return this.kept; }', returnByValue: true });
      assert.equal(result.value, 42);
      assert.deepEqual(told, [...new Set(told)].sort((a, b) => a - b));
    }
    assert.equal(page.cdp.events.filter(({ method }) => method === 'Target.targetDestroyed').length, 0);
    await page.cdp.close();
  });
}

test('within 5 s the hub that follows a killed one has the same tabs, for clients that connect again', async () => {
  const page = await driven('/two?hub');
  const known = async (cdp) => (await cdp.send('Target.getTargets')).targetInfos
    .filter(({ type }) => type === 'page').map(({ targetId, url }) => `${targetId} ${url}`).sort();
  const before = await known(page.cdp);
  await page.evaluate('window.kept = 42');
  await own.restartHub();
  await within(1_000, 'the client is told', page.cdp.closed);
  const cdp = await until('the browser is back', async () => {
    const again = await Cdp.connect(await browserWs(own.endpoint));
    if ((await known(again)).length === before.length) return again;
    await again.close();
    return false;
  }, 5_000, 50);
  assert.deepEqual(await known(cdp), before);
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId: page.targetId, flatten: true });
  assert.equal(await cdp.evaluate('document.title + window.kept', sessionId), 'two42');
  await cdp.close();
});

test('a browser that is closed is told as its tabs that go', async () => {
  const page = await driven('/two?close');
  const pending = page.evaluate('new Promise(() => {})').then(() => 'answered', (error) => error.message);
  void own.pipe.send('Browser.close');
  await page.cdp.event('Target.detachedFromTarget', ({ sessionId }) => sessionId === page.sessionId);
  await page.cdp.event('Target.targetDestroyed', ({ targetId }) => targetId === page.targetId);
  assert.match(await within(5_000, 'the pending command is answered', pending), /closed|detached|not found/);
  await page.cdp.close();
});

test('a tab that goes to a page that cannot be debugged, and back, is driven as before', async () => {
  const page = await driven('/two?away', 'Page', 'Runtime');
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source: 'window.early = "early"' });
  await page.send('Emulation.setTimezoneOverride', { timezoneId: 'Pacific/Auckland' });
  const go = (url) => own.inExtension(`chrome.tabs.update(${page.tabId}, { url: ${JSON.stringify(url)} })`);
  const shown = (url) => page.cdp.event('Target.targetInfoChanged', ({ targetInfo }) => targetInfo.targetId === page.targetId && targetInfo.url === url);
  await go('chrome://version/');
  await shown('chrome://version/');
  await assert.rejects(within(10_000, 'an error', page.evaluate('1')), /cannot be driven|chrome:/i);
  assert.deepEqual(await own.attached(), []);
  const back = at.site.url('/two?back');
  await go(back);
  await shown(back);
  await until('driven again', async () => (await page.evaluate('location.href')) === back);
  assert.equal(await page.evaluate('Intl.DateTimeFormat().resolvedOptions().timeZone'), 'Pacific/Auckland');
  await page.send('Page.navigate', { url: at.site.url('/two?again') });
  await until('the init script has run', async () => (await page.evaluate('window.sawEarly')) === 'early');
  await page.cdp.close();
});

test('a tab that the person closes ends its sessions and what was asked of it', async () => {
  const page = await driven('/two?closed');
  const pending = page.evaluate('new Promise(() => {})').then(() => 'answered', (error) => error.message);
  await own.inExtension(`chrome.tabs.remove(${page.tabId})`);
  await page.cdp.event('Target.detachedFromTarget', ({ sessionId }) => sessionId === page.sessionId);
  await page.cdp.event('Target.targetDestroyed', ({ targetId }) => targetId === page.targetId);
  assert.match(await within(5_000, 'the pending command is answered', pending), /closed|detached|not found/i);
  await assert.rejects(page.evaluate('1'), /Session with given id not found/);
  await assert.rejects(page.cdp.send('Target.attachToTarget', { targetId: page.targetId, flatten: true }), /No target with given id/);
  await page.cdp.close();
});

test('a tab that is moved into another window goes on', async () => {
  const page = await driven('/two?moved');
  const windowOf = async () => (await page.cdp.send('Browser.getWindowForTarget', { targetId: page.targetId })).windowId;
  const before = await windowOf();
  const { result: { objectId } } = await page.send('Runtime.evaluate', { expression: '({ kept: 42 })' });
  const windowId = await own.inExtension(`chrome.windows.create({ tabId: ${page.tabId} }).then(({ id }) => id)`);
  assert.equal(await windowOf(), windowId);
  assert.notEqual(windowId, before);
  const { result } = await page.send('Runtime.callFunctionOn',
    { objectId, functionDeclaration: 'function () { return this.kept; }', returnByValue: true });
  assert.equal(result.value, 42);
  assert.equal(page.cdp.events.filter(({ method }) => method === 'Target.targetDestroyed').length, 0);
  await page.cdp.close();
});

test('a tab that the browser discarded is loaded when it is used', async () => {
  const cdp = await own.cdp();
  await cdp.send('Target.setDiscoverTargets', { discover: true });
  const url = at.site.url('/two?discarded');
  const targetId = await own.open(url);
  await until('it is loaded', async () => (await own.target(cdp, url)).title === 'two');
  await own.inExtension(`chrome.tabs.discard(${await own.tabOf(targetId)})`);
  // Chrome puts another page in its place, or keeps it.
  await until('it is discarded', () => own.inExtension(
    `chrome.tabs.query({ discarded: true }).then((tabs) => tabs.length === 1 && tabs[0].url === ${JSON.stringify(url)})`));
  const now = await until('the target of it', async () => {
    const { targetId: id } = await own.target(cdp, url);
    return (await own.tabOf(id).catch(() => undefined)) && id;
  });
  assert.deepEqual(await own.attached(), []);
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId: now, flatten: true });
  assert.equal(await within(10_000, 'its title', cdp.evaluate('document.title', sessionId)), 'two');
  await cdp.close();
});

test('a tab that is discarded while it is driven can be driven again', async () => {
  const page = await driven('/two?dropped');
  const pending = page.evaluate('new Promise(() => {})').then(() => 'answered', (error) => error.message);
  await own.inExtension(`chrome.tabs.discard(${page.tabId})`);
  assert.notEqual(await within(10_000, 'the pending command is answered', pending), 'answered');
  const again = await until('a target that can be driven', async () => {
    const { targetId } = await own.target(page.cdp, page.url);
    return (await own.tabOf(targetId).catch(() => undefined)) && targetId;
  });
  const { sessionId } = await page.cdp.send('Target.attachToTarget', { targetId: again, flatten: true });
  assert.equal(await within(10_000, 'its title', page.cdp.evaluate('document.title', sessionId)), 'two');
  await page.cdp.close();
});

test('a browser that does not come back within 40 s ends its clients, and what they had asked', { timeout: 60_000 }, async () => {
  await within(45_000, 'Playwright is told', closed.told);
  await within(5_000, 'the connection ends', closed.cdp.closed);
  assert.match(await closed.asked, /closed/);
  const { browsers } = await closed.rest.get('/status');
  assert.equal(browsers.find(({ name }) => name === closed.name).state, 'lost');
});
