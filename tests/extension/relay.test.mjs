// What the proven hub gets: tabs with their real targets, commands, events, child sessions, tab events.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { Browser, EXTENSION_ID } from './lib/browser.mjs';
import { FakeHub, newInstance, newKey } from './lib/hub.mjs';
import { Site } from '../e2e/lib/site.mjs';
import { test } from '../e2e/lib/test.mjs';
import { until } from '../e2e/lib/until.mjs';

let hub;
let site;
let browser;
let link;

before(async () => {
  const key = newKey();
  hub = await FakeHub.start({ key });
  site = await Site.start();
  browser = await Browser.start({ preset: { hub: hub.address, instance: newInstance(), key }, flags: ['--site-per-process'] });
  link = await hub.ready();
});

after(async () => {
  await browser?.stop();
  await site?.stop();
  await hub?.stop();
});

/** Opens a tab and gives it when it has loaded. */
async function open(path = '/', more = {}) {
  const { tab } = await link.ask('createTab', { url: site.origin + path, ...more });
  await link.message('tabUpdated', ({ tabId, status }) => tabId === tab.tabId && status === 'complete');
  return tab;
}

test('listTabs gives the target ids that Chrome itself gives', async () => {
  const { targetId } = await browser.page(`${site.origin}/two`);
  const { tabs } = await link.ask('listTabs');
  const pages = await browser.targets(({ type }) => type === 'page');
  assert.deepEqual(tabs.map((tab) => tab.targetId).sort(), pages.map((page) => page.targetId).sort());
  const tab = tabs.find((one) => one.targetId === targetId);
  assert.deepEqual(Object.keys(tab).filter((name) => name !== 'openerTabId').sort(), [
    'active', 'attached', 'chosen', 'discarded', 'frozen', 'incognito', 'index', 'status', 'tabId', 'targetId', 'title', 'url', 'windowId']);
  assert.equal(tab.attached, false);
});

test('a tab is attached once, however many ask, and let go', async () => {
  const { tabId, targetId } = await open();
  const [first, second] = await Promise.all([link.ask('attachTab', { tabId, sessionId: 'a' }), link.ask('attachTab', { tabId, sessionId: 'b' })]);
  assert.equal(first.targetId, targetId);
  assert.equal(second.targetId, targetId);
  assert.deepEqual(await link.ask('attachTab', { tabId, sessionId: 'c' }), { targetId, adopted: true });
  assert.equal((await link.ask('listTabs')).tabs.find((tab) => tab.tabId === tabId).attached, true);
  await link.ask('detachTab', { tabId });
  await assert.rejects(link.cdp(tabId, 'Runtime.evaluate', { expression: '1' }), /not attached/);
  assert.equal((await link.ask('listTabs')).tabs.find((tab) => tab.tabId === tabId).attached, false);
});

test('commands, their errors and events go through', async () => {
  const { tabId } = await open();
  await link.ask('attachTab', { tabId, sessionId: 'a' });
  assert.equal((await link.cdp(tabId, 'Runtime.evaluate', { expression: '6 * 7' })).result.value, 42);
  await assert.rejects(link.cdp(tabId, 'Browser.getVersion'), (error) => JSON.parse(error.message).code === -32601);
  await assert.rejects(link.ask('cdpCommand', { tabId, method: 7 }), /signature/);
  await assert.rejects(link.ask('attachTab', { tabId: 1, sessionId: 'a' }), /No tab/);
  await assert.rejects(link.ask('toString'), /does not know/);
  await link.cdp(tabId, 'Runtime.enable');
  await link.cdp(tabId, 'Runtime.evaluate', { expression: 'console.log("über", "a\\u2028b", "\\ud800")' });
  const { params } = await link.event('Runtime.consoleAPICalled', (event) => event.tabId === tabId);
  assert.equal(params.args[1].value, 'a\u2028b');
});

test('a burst of events keeps its order, shares frames, and a reply comes behind what came before it', async () => {
  const { tabId } = await open();
  await link.ask('attachTab', { tabId, sessionId: 'a' });
  await link.cdp(tabId, 'Runtime.enable');
  const from = link.messages.length;
  const frames = link.frames.length;
  await link.cdp(tabId, 'Runtime.evaluate', { expression: 'for (let i = 0; i < 500; i++) console.log(i)' });
  const lines = () => link.messages.slice(from).filter(({ params }) => params?.method === 'Runtime.consoleAPICalled' && params.tabId === tabId);
  await until('all lines', () => lines().length === 500);
  assert.deepEqual(lines().map(({ params }) => params.params.args[0].value), Array.from({ length: 500 }, (_, i) => i));
  assert.ok(link.frames.length - frames < 300, `${link.frames.length - frames} frames`);
});

test('a cross-origin frame is a child session', async () => {
  const { tabId } = await open('/frames');
  await link.ask('attachTab', { tabId, sessionId: 'a' });
  await link.cdp(tabId, 'Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: true });
  const { params } = await link.event('Target.attachedToTarget', (event) => event.tabId === tabId && event.params.targetInfo.type === 'iframe');
  await link.cdp(tabId, 'Runtime.enable', {}, params.sessionId);
  const { result } = await link.cdp(tabId, 'Runtime.evaluate', { expression: 'location.hostname' }, params.sessionId);
  assert.equal(result.value, 'localhost');
  const event = await link.event('Runtime.executionContextCreated', (one) => one.childSessionId === params.sessionId);
  assert.equal(event.tabId, tabId);
});

test('tabs are told when they come, change and go; the event comes before the reply', async () => {
  const { tab } = await link.ask('createTab', { url: `${site.origin}/two` });
  const created = link.messages.findIndex(({ method, params }) => method === 'tabCreated' && params.tabId === tab.tabId);
  const replied = link.messages.findIndex(({ result }) => result?.tab?.tabId === tab.tabId);
  assert.ok(created >= 0 && created < replied);
  await link.message('tabUpdated', ({ tabId, url }) => tabId === tab.tabId && url === `${site.origin}/two`);
  await link.message('tabUpdated', ({ tabId, title }) => tabId === tab.tabId && title === 'two');
  await link.ask('activateTab', { tabId: tab.tabId });
  await link.message('tabUpdated', ({ tabId, active }) => tabId === tab.tabId && active === true);
  await link.ask('closeTab', { tabId: tab.tabId });
  await link.message('tabRemoved', ({ tabId }) => tabId === tab.tabId);
});

test('a debugger that goes with its tab is told', async () => {
  const { tabId } = await open();
  await link.ask('attachTab', { tabId, sessionId: 'a' });
  await link.ask('closeTab', { tabId });
  const { params } = await link.message('tabDetached', (one) => one.tabId === tabId);
  assert.equal(params.reason, 'target_closed');
});

test('what a page opens names its opener, as a tab and as a window', async () => {
  const { tabId } = await open('/popups', { active: true });
  await link.ask('attachTab', { tabId, sessionId: 'a' });
  const openIt = (call) => link.cdp(tabId, 'Runtime.evaluate', { expression: `${call}; 1`, userGesture: true });
  for (const [call, path] of [['window.open("/two?tab")', '/two?tab'], ['window.open("/two?window", "", "popup,width=300,height=300")', '/two?window'], ['document.querySelector("#noopener").click()', '/two?noopener']]) {
    await openIt(call);
    const { params } = await link.message('tabCreated', ({ opener }) => opener?.url === site.origin + path);
    assert.equal(params.opener.tabId, tabId, call);
    assert.match(params.targetId, /^[0-9A-F]{32}$/);
  }
});

test('a discarded tab keeps its place, under whichever id', async () => {
  const { tabId } = await open('/three');
  await browser.inWorker(`chrome.tabs.discard(${tabId}).then(() => 1)`);
  const told = await until('the discard is told', () => link.messages.find(({ method, params }) =>
    (method === 'tabReplaced' && params.replaced === tabId) || (method === 'tabUpdated' && params.tabId === tabId && params.discarded === true)));
  const { tabs } = await link.ask('listTabs');
  const tab = tabs.find((one) => one.tabId === told.params.tabId);
  assert.equal(tab.discarded, true);
  assert.equal(tab.url, `${site.origin}/three`);
});

test('windows are told and set', async () => {
  const { tab } = await link.ask('createTab', { url: 'about:blank', newWindow: true, width: 640, height: 480 });
  const window = await link.ask('getWindow', { tabId: tab.tabId });
  assert.deepEqual(Object.keys(window).sort(), ['height', 'left', 'state', 'top', 'width', 'windowId']);
  assert.equal(window.width, 640);
  await link.ask('setWindow', { windowId: window.windowId, width: 700.4 });
  assert.equal((await link.ask('getWindow', { tabId: tab.tabId })).width, 700);
  await link.ask('closeTab', { tabId: tab.tabId });
});

test('a download is found by its address, with its path', async () => {
  const startedAfter = Date.now();
  const { tabId } = await open('/downloads');
  await link.ask('attachTab', { tabId, sessionId: 'a' });
  assert.deepEqual(await link.ask('findDownload', { url: `${site.origin}/file`, filename: 'knots.bin', startedAfter }), {});
  await link.cdp(tabId, 'Runtime.evaluate', { expression: 'document.querySelector("#get").click()', userGesture: true });
  const found = await until('the download', async () => {
    const download = await link.ask('findDownload', { url: `${site.origin}/file`, filename: 'knots.bin', startedAfter });
    return download.state === 'complete' && download;
  });
  assert.match(found.path, /knots.*\.bin$/);
  assert.equal(found.bytes, found.total);
});

test('frames of other extensions stay where the person has not allowed to remove them', async () => {
  const { tabId } = await open();
  await assert.rejects(link.ask('freeFrames', { tabId }), /person can let Bowline remove them/);
});

test('driven tabs are in a group of ours, and no tab leaves a group of the person', async () => {
  const [mine, theirs] = [await open(), await open()];
  const group = await browser.inWorker(`chrome.tabs.group({ tabIds: [${theirs.tabId}], createProperties: { windowId: ${theirs.windowId} } })`);
  const groupOf = (tabId) => browser.inWorker(`chrome.tabs.get(${tabId}).then((tab) => tab.groupId)`);
  link.send('drivers', { tabs: [{ tabId: mine.tabId, clients: ['playwright'] }, { tabId: theirs.tabId, clients: ['puppeteer'] }] });
  const ours = await until('a group', async () => (await groupOf(mine.tabId)) !== -1 && groupOf(mine.tabId));
  assert.equal(await browser.inWorker(`chrome.tabGroups.get(${ours}).then((group) => group.title)`), 'Bowline');
  assert.equal(await groupOf(theirs.tabId), group);
  link.send('drivers', { tabs: [] });
  await until('no group', async () => (await groupOf(mine.tabId)) === -1);
  assert.equal(await groupOf(theirs.tabId), group);
});

test('no agent gets into the pages of the extension itself', async () => {
  const url = `chrome-extension://${EXTENSION_ID}/popup/popup.html`;
  const refused = /closed to agents/;
  await assert.rejects(link.ask('createTab', { url }), refused);
  const { tabId } = await open();
  await link.ask('attachTab', { tabId, sessionId: 'a' });
  for (const spelling of [url, url.toUpperCase().replace(/POPUP.*/, ''), ` ${url}`, url.replace('ext', 'ex\tt')]) {
    await assert.rejects(link.cdp(tabId, 'Page.navigate', { url: spelling }), refused, spelling);
  }
  // The person goes there in a tab that is attached: the debugger leaves.
  await browser.inWorker(`chrome.tabs.update(${tabId}, { url: '${url}' }).then(() => 1)`);
  await link.message('tabDetached', (params) => params.tabId === tabId);
  await assert.rejects(link.ask('attachTab', { tabId, sessionId: 'a' }), refused);
  await link.ask('closeTab', { tabId });
});

test('a ping is answered', async () => {
  link.send('ping');
  await link.message('pong');
});
