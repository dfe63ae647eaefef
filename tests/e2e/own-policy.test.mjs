// What a person lets agents do in their own browser: set in the extension's popup, held by the hub, changed while clients are
// connected; and Cancel.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { DIRECT, hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { http } from './lib/http.mjs';
import { Own } from './lib/own.mjs';
import { cancel, choose, inWorker, pagesOf, resume, setPolicy, Sight } from './lib/person.mjs';
import { html } from './lib/site.mjs';
import { stays } from './lib/stays.mjs';
import { afterEach, test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

/** What a script that would change something fails with. */
const NO_EFFECTS = /side.effect|read-only/i;

const DEFAULTS = { mode: 'auto', readOnly: false, noNewTabs: false, allow: [], deny: [], allowCookies: false, allowFiles: false };

const at = fixture({
  target: false,
  pages: {
    '/away': (url) => ({ status: 302, headers: { location: `http://localhost:${url.port}/three?secret` }, body: '' }),
    '/around': (url) => html('around', `<iframe id=near src="/frame?near"></iframe><iframe id=far src="http://localhost:${url.port}/frame?far"></iframe>`),
    '/opener': (url) => html('opener', '', `window.go = () => window.open('http://localhost:${url.port}/three?popup')`),
    '/drop': html('drop', '<div id=here style="width:300px;height:300px">here</div>',
      `const here = document.querySelector('#here'); here.ondragover = (e) => e.preventDefault();
       here.ondrop = async (e) => { e.preventDefault(); document.title = 'got ' + await e.dataTransfer.files[0]?.text(); };`),
  },
  async open(here) {
    if (DIRECT) return;
    here.own = await Own.start({ policy: DEFAULTS, pages: [here.site.url('/')] });
    [{ targetId: here.first }] = await pagesOf(here.own);
  },
  close: ({ own }) => own?.stop(),
});

afterEach(async () => {
  if (!at.own) return;
  const pages = await pagesOf(at.own);
  for (const { targetId } of pages.filter((page) => page.targetId !== at.first)) await at.own.pipe.send('Target.closeTarget', { targetId }).catch(() => {});
  await setPolicy(at.own, DEFAULTS);
});

/** The person changes it; the hub hears of it a moment later. */
const policy = (change) => setPolicy(at.own, change);

/** A raw client that is told of every target. */
async function watcher() {
  const cdp = await at.own.cdp();
  await cdp.send('Target.setDiscoverTargets', { discover: true });
  return Object.assign(cdp, {
    pages: async () => (await cdp.send('Target.getTargets')).targetInfos.filter(({ type }) => type === 'page'),
    sees: async (path) => (await cdp.pages()).some(({ url }) => url.includes(path)),
    target: (path) => until(`${path} is a target`, async () => (await cdp.pages()).find(({ url }) => url.includes(path))),
    onPage: async (path) => {
      const { targetId } = await cdp.target(path);
      const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
      return { targetId, sessionId };
    },
  });
}

/** Asserts that a command is refused, with the rule and the switch in its text. */
async function refuses(promise, ...words) {
  const error = await promise.then((value) => assert.fail(`it was answered: ${JSON.stringify(value)}`), (failure) => failure);
  const text = error.answer ?? error.message;
  assert.match(text, /Refused by policy: .+ The person can change it in the Bowline extension's popup \(.+\)\./);
  for (const word of words) assert.ok(text.includes(word), `${word}: ${text}`);
}

/** Through HTTP the same words come as the body of an error. */
async function refusesHttp(path, method, ...words) {
  const { status, text } = await http(at.own.endpoint, path, { method });
  assert.equal(status, 403, `${path}: ${text}`);
  for (const word of words) assert.ok(text.includes(word), `${word}: ${text}`);
}

/** Once a change has reached the hub, this fails; before, it may succeed. */
const comesIntoForce = (what, probe) => until(`${what} is in force`, async () => {
  try {
    await probe();
    return false;
  } catch (error) {
    if (!/Refused by policy/.test(error.message)) throw error;
    return true;
  }
});

test('manual: only chosen tabs are seen, and those that agents make', hubOnly, async () => {
  const person = await Sight.open(at.own, at.site.url('/two'));
  const cdp = await watcher();
  assert.ok(await cdp.sees('/two'));
  await policy({ mode: 'manual' });
  await until('nothing is seen', async () => (await cdp.pages()).length === 0);
  const listed = async () => (await http(at.own.endpoint, '/json/list')).json().map(({ url }) => new URL(url).pathname);
  assert.deepEqual(await listed(), []);
  assert.ok(cdp.events.some(({ method, params }) => method === 'Target.targetDestroyed' && params.targetId === person.targetId));

  const told = () => cdp.events.filter(({ method, params }) => method === 'Target.targetCreated' && params.targetInfo.targetId === person.targetId).length;
  const before = told();
  await choose(at.own, '/two', true);
  await until('the chosen one is announced', () => told() === before + 1);
  assert.deepEqual(await listed(), ['/two']);
  const { sessionId } = await cdp.onPage('/two');
  assert.equal(await cdp.evaluate('document.title', sessionId), 'two');
  await choose(at.own, '/two', false);
  await cdp.event('Target.detachedFromTarget', (params) => params.sessionId === sessionId);
  await until('it is retracted', async () => (await cdp.pages()).length === 0);
  await assert.rejects(cdp.send('Target.attachToTarget', { targetId: person.targetId, flatten: true }), /No target/);

  const made = await cdp.page(at.site.url('/three'));
  assert.equal((await cdp.target('/three')).targetId, made.targetId);
  assert.deepEqual(await listed(), ['/three']);
  await cdp.close();
});

test('read-only: agents look and touch nothing', hubOnly, async () => {
  await Sight.open(at.own, at.site.url('/popups'));
  const cdp = await watcher();
  const { sessionId, targetId } = await cdp.onPage('/popups');
  await cdp.evaluate('1', sessionId);
  await policy({ readOnly: true });
  await comesIntoForce('read-only', () => cdp.send('Input.insertText', { text: '' }, sessionId));

  assert.equal(await cdp.evaluate('document.title + document.querySelectorAll("a").length', sessionId), 'popups2');
  assert.ok((await cdp.send('Page.captureScreenshot', {}, sessionId)).data.length > 100);
  assert.ok((await cdp.send('DOM.getDocument', { depth: -1 }, sessionId)).root);
  assert.ok((await cdp.send('Accessibility.getFullAXTree', {}, sessionId)).nodes.length > 1);
  await assert.rejects(cdp.evaluate('document.title = "touched"', sessionId), NO_EFFECTS);
  await assert.rejects(cdp.evaluate('fetch("/touched")', sessionId), NO_EFFECTS);
  const { result: { objectId } } = await cdp.send('Runtime.evaluate', { expression: 'document.body' }, sessionId);
  const removed = await cdp.send('Runtime.callFunctionOn', { objectId, functionDeclaration: 'function () { this.remove(); }' }, sessionId)
    .then(({ exceptionDetails }) => exceptionDetails.exception.description, ({ message }) => message);
  assert.match(removed, NO_EFFECTS, 'nor through a function');
  assert.ok(await cdp.evaluate('document.body !== null', sessionId));
  for (const [method, params] of [
    ['Page.navigate', { url: at.site.url('/two') }], ['Page.reload'], ['Page.close'], ['Page.setDocumentContent', { frameId: 'x', html: '' }],
    ['Input.dispatchMouseEvent', { type: 'mousePressed', x: 1, y: 1 }], ['Input.dispatchKeyEvent', { type: 'keyDown', key: 'a' }], ['Input.insertText', { text: 'x' }],
    ['DOM.setAttributeValue', { nodeId: 1, name: 'a', value: 'b' }], ['DOM.removeNode', { nodeId: 1 }], ['Fetch.enable'], ['Storage.clearDataForOrigin', { origin: at.site.origin, storageTypes: 'all' }],
    ['Network.setCookie', { name: 'a', value: 'b', url: at.site.origin }], ['Debugger.pause'], ['Debugger.evaluateOnCallFrame', { callFrameId: 'x', expression: '1' }], ['Emulation.setScriptExecutionDisabled', { value: true }],
  ]) await refuses(cdp.send(method, params, sessionId), '(read-only)');
  await refuses(cdp.send('Target.createTarget', { url: 'about:blank' }), '(read-only)');
  await refuses(cdp.send('Target.closeTarget', { targetId }), '(read-only)');
  await refusesHttp('/json/new?about:blank', 'PUT', 'read-only');
  await refusesHttp(`/json/close/${targetId}`, 'GET', 'read-only');

  assert.ok(!at.site.requests.includes('GET /touched'));
  await cdp.close();
});

test('read-only: what clients can read, and that it ends while they are connected', hubOnly, async () => {
  await Sight.open(at.own, at.site.url('/popups'));
  const browser = await chromium.connectOverCDP(at.own.endpoint);
  const page = browser.contexts()[0].pages().find((one) => one.url().includes('/popups'));
  const other = await puppeteer.connect({ browserURL: at.own.endpoint, defaultViewport: null });
  const same = (await other.pages()).find((one) => one.url().includes('/popups'));
  await policy({ readOnly: true });
  await until('it is in force', () => page.mouse.click(300, 300).then(() => false, (error) => /\(read-only\)/.test(error.message)));
  await assert.rejects(page.goto(at.site.url('/two')), /\(read-only\)/);
  await assert.rejects(page.reload(), /\(read-only\)/);
  await assert.rejects(browser.contexts()[0].newPage(), /\(read-only\)/);
  await assert.rejects(same.goto(at.site.url('/two')), /\(read-only\)/);
  await assert.rejects(same.evaluate(() => { document.title = 'touched'; }), NO_EFFECTS);
  assert.equal(await same.evaluate(() => document.title), 'popups');
  assert.equal(await same.title(), 'popups');
  assert.ok((await same.screenshot()).length > 100);
  assert.ok((await page.pdf()).length > 100);
  const client = await page.context().newCDPSession(page);
  assert.match((await client.send('DOM.getOuterHTML', { nodeId: (await client.send('DOM.getDocument')).root.nodeId })).outerHTML, /<a id="blank"/);
  // Chrome cannot tell whether Playwright's own script in the page would change it, and so forbids it.
  await assert.rejects(page.content());
  await assert.rejects(page.evaluate(() => document.title));
  await policy({ readOnly: false });
  await until('it is over', () => page.goto(at.site.url('/two')).then(() => true, () => false));
  assert.match(await page.content(), /<h1>Two/);
  await other.disconnect();
  await browser.close();
});

test('read-only: Playwright, too, says which rule its script breaks', hubOnly, async () => {
  await Sight.open(at.own, at.site.url('/popups'));
  const browser = await chromium.connectOverCDP(at.own.endpoint);
  const page = browser.contexts()[0].pages().find((one) => one.url().includes('/popups'));
  await policy({ readOnly: true });
  await until('it is in force', () => page.mouse.click(300, 300).then(() => false, () => true));
  await assert.rejects(page.evaluate(() => document.title), /agents may only read[^]*popup/);
  await browser.close();
});

test('read-only: no script of an agent runs with effects by another way', hubOnly, async () => {
  const person = await Sight.open(at.own, at.site.url('/two'));
  const cdp = await watcher();
  const { sessionId } = await cdp.onPage('/two');
  await cdp.evaluate('1', sessionId);
  await policy({ readOnly: true });
  await comesIntoForce('read-only', () => cdp.send('Input.insertText', { text: '' }, sessionId));
  const ask = (method, params) => cdp.send(method, params, sessionId).catch(() => ({}));
  await ask('Page.addScriptToEvaluateOnNewDocument', { source: 'document.title = window.touched = "at once"', runImmediately: true });
  await ask('Page.addScriptToEvaluateOnNewDocument', { source: 'window.touched = "on load"' });
  const { scriptId } = await ask('Runtime.compileScript', { expression: 'document.title = window.touched = "compiled"', sourceURL: 'x', persistScript: true });
  if (scriptId) await ask('Runtime.runScript', { scriptId });
  await ask('CSS.enable', {});
  await ask('Runtime.evaluate', { expression: 'window.touched = 1', replMode: true });
  await ask('Runtime.evaluate', { expression: 'Promise.resolve().then(() => { window.touched = "later"; })', awaitPromise: true });
  await ask('Runtime.evaluate', { expression: 'location.hash = "touched"', userGesture: true, throwOnSideEffect: false });
  assert.deepEqual(await person.evaluate('[document.title, typeof window.touched, location.hash]'), ['two', 'undefined', '']);
  await person.evaluate('void location.reload()');
  await until('loaded anew', () => person.evaluate('performance.getEntriesByType("navigation")[0].type === "reload" && document.readyState === "complete"'));
  assert.deepEqual(await person.evaluate('[document.title, typeof window.touched]'), ['two', 'undefined']);
  await cdp.close();
});

test('allowed sites: others are not seen, not gone to and not opened', hubOnly, async () => {
  await Sight.open(at.own, `${at.site.other}/two?other`);
  await Sight.open(at.own, at.site.url('/two?mine'));
  const cdp = await watcher();
  assert.ok(await cdp.sees('?other') && await cdp.sees('?mine'));
  const { sessionId } = await cdp.onPage('?mine');
  await policy({ allow: [`127.0.0.1:${at.site.port}`] });
  await until('the other site is not seen', async () => !await cdp.sees('?other'));
  assert.ok(await cdp.sees('?mine'));
  assert.ok(!(await http(at.own.endpoint, '/json/list')).text.includes('?other'));
  const elsewhere = `${at.site.other}/three`;
  await refuses(cdp.send('Page.navigate', { url: elsewhere }, sessionId), '(allowed sites)', at.site.other);
  await refuses(cdp.send('Target.createTarget', { url: elsewhere }), '(allowed sites)');
  await refusesHttp(`/json/new?${elsewhere}`, 'PUT', 'allowed sites');
  assert.ok((await cdp.send('Page.navigate', { url: at.site.url('/three') }, sessionId)).frameId);
  await cdp.close();
});

test('denied sites: the person goes there without the agents', hubOnly, async () => {
  const person = await Sight.open(at.own, at.site.url('/two?walk'));
  const cdp = await watcher();
  const { sessionId, targetId } = await cdp.onPage('?walk');
  await cdp.send('Page.enable', {}, sessionId);
  await cdp.send('Network.enable', {}, sessionId);
  await policy({ deny: ['localhost'] });
  const secret = `${at.site.other}/three?secret`;
  await comesIntoForce('the list', () => cdp.send('Page.navigate', { url: secret }, sessionId).then(() => cdp.send('Page.navigate', { url: at.site.url('/two?walk') }, sessionId)));
  await refuses(cdp.send('Target.createTarget', { url: secret }), '(denied sites)', '`localhost`');
  await refusesHttp(`/json/new?${secret}`, 'PUT', 'denied sites');

  await until('on the page', () => cdp.sees('?walk'));
  const again = await cdp.onPage('?walk');
  assert.equal(await cdp.evaluate('document.title', again.sessionId), 'two');
  await person.evaluate(`void (location.href = ${JSON.stringify(secret)})`);
  await cdp.event('Target.detachedFromTarget', (params) => params.sessionId === again.sessionId);
  await until('it is not seen', async () => (await cdp.pages()).every((page) => page.targetId !== targetId));
  await assert.rejects(cdp.evaluate('document.body.innerText', again.sessionId));
  await assert.rejects(cdp.send('Target.attachToTarget', { targetId, flatten: true }), /No target/);
  await person.evaluate(`void (location.href = ${JSON.stringify(at.site.url('/two?back'))})`);
  await until('seen again', () => cdp.sees('?back'));
  await cdp.close();
});

test('denied sites: neither a redirect nor a popup leads there', hubOnly, async () => {
  await policy({ deny: ['localhost'] });
  const cdp = await watcher();
  await until('the list is in force', () => cdp.send('Target.createTarget', { url: `${at.site.other}/two` }).then(() => false, () => true));
  const { sessionId, targetId } = await cdp.page(at.site.url('/opener'));
  await until('it is loaded', () => cdp.evaluate('typeof go', sessionId).then((type) => type === 'function'));
  await cdp.evaluate('void go()', sessionId, { userGesture: true });
  await until('the popup is open', async () => (await pagesOf(at.own)).some(({ url }) => url.includes('?popup')));
  assert.ok(!await cdp.sees('?popup'));
  const [popup] = (await pagesOf(at.own)).filter(({ url }) => url.includes('?popup'));
  await until('nobody gets into the popup', () => cdp.send('Target.attachToTarget', { targetId: popup.targetId, flatten: true }).then(() => false, ({ message }) => /No target/.test(message)));

  await cdp.send('Page.navigate', { url: at.site.url('/away') }, sessionId).catch(() => {});
  await until('the page of the redirect is not seen', async () => (await cdp.pages()).every((page) => page.targetId !== targetId));
  await assert.rejects(cdp.evaluate('document.body.innerText', sessionId));
  assert.ok(!JSON.stringify(cdp.events.filter(({ method }) => method.startsWith('Target.'))).includes('?popup'), 'no word of the popup');
  await cdp.close();
});

test('denied sites: a popup that goes there is not announced while it is blank either', hubOnly, async () => {
  await policy({ deny: ['localhost'] });
  const cdp = await watcher();
  await until('the list is in force', () => cdp.send('Target.createTarget', { url: `${at.site.other}/two` }).then(() => false, () => true));
  const { sessionId, targetId } = await cdp.page(at.site.url('/opener'));
  await until('it is loaded', () => cdp.evaluate('typeof go', sessionId).then((type) => type === 'function'));
  for (let count = 1; count <= 5; count++) {
    await cdp.evaluate('void go()', sessionId, { userGesture: true });
    await until('the popup is open', async () => (await pagesOf(at.own)).filter(({ url }) => url.includes('?popup')).length === count);
  }
  assert.deepEqual(cdp.events.filter(({ method, params }) => method === 'Target.targetCreated' && params.targetInfo.openerId === targetId), []);
  await cdp.close();
});

test('denied sites: an address is what the browser makes of it', hubOnly, async () => {
  await policy({ deny: ['localhost'] });
  const cdp = await watcher();
  const { port } = at.site;
  await until('the list is in force', () => cdp.send('Target.createTarget', { url: `${at.site.other}/two` }).then(() => false, () => true));
  const before = at.site.requests.length;
  const went = [];
  const addresses = [
    `http:localhost:${port}/three?trick`, `http:/localhost:${port}/three?trick`, `http:\\\\localhost:${port}/three?trick`, `http:///localhost:${port}/three?trick`,
    `HTTP://LOCALHOST:${port}/three?trick`, `http://loc%61lhost:${port}/three?trick`, `http://localhost.:${port}/three?trick`, ` http://localhost:${port}/three?trick`,
    `ht\ntp://localhost:${port}/three?trick`, `http://user@localhost:${port}/three?trick`, `http://ｌocalhost:${port}/three?trick`, `view-source:http://localhost:${port}/three?trick`,
    `http://localhost:${port}\\@127.0.0.1/three?trick`,
  ];
  const ways = [['Page.navigate', {}], ['Target.createTarget', {}], ['Target.createTarget', { forTab: true, destination: 'about:blank' }]];
  await Promise.all(addresses.flatMap((url) => ways.map(async ([method, more]) => {
    const sessionId = method.startsWith('Page.') ? (await cdp.page('about:blank')).sessionId : undefined;
    const gone = await within(10_000, 'an answer', cdp.send(method, { url, ...more }, sessionId)).then(({ errorText }) => !errorText, ({ code }) => code === undefined);
    if (gone) went.push(`${method} ${JSON.stringify(url)} ${Object.keys(more)}`);
  })));
  assert.deepEqual(went, []);
  assert.deepEqual(at.site.requests.slice(before).filter((request) => request.includes('trick')), []);
  await cdp.close();
});

test('denied sites: a frame of such a site in an allowed page is closed', hubOnly, async () => {
  await policy({ deny: ['localhost'] });
  const cdp = await watcher();
  await until('the list is in force', () => cdp.send('Target.createTarget', { url: `${at.site.other}/two` }).then(() => false, () => true));
  const { sessionId } = await cdp.page('about:blank');
  await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: true }, sessionId);
  await cdp.send('Page.navigate', { url: at.site.url('/around') }, sessionId);
  await until('the frames are there', () => cdp.evaluate('document.readyState === "complete" && frames.length === 2', sessionId));
  await cdp.evaluate('document.title', sessionId);
  assert.ok(!(await cdp.send('Target.getTargets')).targetInfos.some(({ url }) => url.includes('?far')), 'it is no target');
  assert.ok(!cdp.events.some(({ method, params }) => method === 'Target.attachedToTarget' && params.targetInfo.url.includes('?far')), 'it has no session');
  await cdp.close();
});

test('no new tabs: agents work in those that are there', hubOnly, async () => {
  await Sight.open(at.own, at.site.url('/two?here'));
  const cdp = await watcher();
  await policy({ noNewTabs: true });
  await comesIntoForce('it', () => cdp.send('Target.createTarget', { url: 'about:blank' }).then(({ targetId }) => cdp.send('Target.closeTarget', { targetId })));
  await refuses(cdp.send('Target.createTarget', { url: at.site.url('/three') }), '(no new tabs)');
  await refusesHttp('/json/new?about:blank', 'PUT', 'no new tabs');
  const browser = await chromium.connectOverCDP(at.own.endpoint);
  await assert.rejects(browser.contexts()[0].newPage(), /no new tabs/);
  const page = browser.contexts()[0].pages().find((one) => one.url().includes('?here'));
  await page.goto(at.site.url('/three'));
  assert.equal(await page.title(), 'three');
  await browser.close();
  await cdp.close();
});

test('cookies of all sites are refused until they are allowed', hubOnly, async () => {
  await Sight.open(at.own, at.site.url('/cookie'));
  const cdp = await watcher();
  const { sessionId } = await cdp.onPage('/cookie');
  await refuses(cdp.send('Storage.getCookies'), '(allow cookies)');
  await refuses(cdp.send('Network.getAllCookies', {}, sessionId), '(allow cookies)');
  await refuses(cdp.send('Storage.clearCookies'), '(allow cookies)');
  await refuses(cdp.send('Network.getCookies', { urls: ['https://bank.test/'] }, sessionId), '(allow cookies)', 'https://bank.test');
  assert.deepEqual((await cdp.send('Network.getCookies', {}, sessionId)).cookies.map(({ name }) => name), ['knot'], 'those of the page itself');
  const browser = await chromium.connectOverCDP(at.own.endpoint);
  await assert.rejects(browser.contexts()[0].cookies(), /allow cookies/);
  await policy({ allowCookies: true });
  await until('allowed', () => browser.contexts()[0].cookies().then((all) => all.some(({ name }) => name === 'knot'), () => false));
  assert.ok((await cdp.send('Storage.getCookies')).cookies.some(({ name }) => name === 'knot'));
  await browser.close();
  await cdp.close();
});

test('files of the computer are refused until they are allowed', hubOnly, async () => {
  const path = join(at.own.root, 'rope.txt');
  await writeFile(path, 'hemp');
  const url = pathToFileURL(path).href;
  const cdp = await watcher();
  const { sessionId } = await cdp.page(at.site.url('/uploads'));
  await refuses(cdp.send('Page.navigate', { url }, sessionId), 'file:', '(allow files)');
  await refuses(cdp.send('Page.navigate', { url: url.replace('file', 'FILE') }, sessionId), 'file:', '(allow files)');
  await refuses(cdp.send('Target.createTarget', { url }), 'file:', '(allow files)');
  await refusesHttp(`/json/new?${url}`, 'PUT', 'allow files');
  await until('loaded', () => cdp.evaluate('document.querySelector("#files") !== null', sessionId));
  const { result: { objectId } } = await cdp.send('Runtime.evaluate', { expression: 'document.querySelector("#files")' }, sessionId);
  await refuses(cdp.send('DOM.setFileInputFiles', { objectId, files: [path] }, sessionId), '(allow files)');
  await policy({ allowFiles: true });
  await until('allowed', () => cdp.send('DOM.setFileInputFiles', { objectId, files: [path] }, sessionId).then(() => true, () => false));
  await until('the page has it', async () => await cdp.evaluate('document.title', sessionId) === 'rope.txt=hemp');
  await cdp.close();
});

test('files of the computer are not dropped onto a page either', hubOnly, async () => {
  const path = join(at.own.root, 'dropped.txt');
  await writeFile(path, 'hemp');
  const cdp = await watcher();
  const { sessionId } = await cdp.page(at.site.url('/drop'));
  await until('loaded', () => cdp.evaluate('document.querySelector("#here") !== null', sessionId));
  const drag = (type, files) => cdp.send('Input.dispatchDragEvent', { type, x: 50, y: 50, data: { items: [], files, dragOperationsMask: 1 } }, sessionId);
  await refuses(drag('dragEnter', [path]), '(allow files)');
  await refuses(drag('drop', [path]), '(allow files)');
  await cdp.close();
});

const attachedTabs = () => inWorker(at.own, 'chrome.debugger.getTargets().then((all) => all.filter(({ attached, tabId, url }) => attached && tabId !== undefined && !url.startsWith("chrome-extension:")).length)');

test('after Cancel nothing attaches by itself; who was there is told why, and a new client may', hubOnly, async () => {
  await Sight.open(at.own, at.site.url('/two?cancel')).then((sight) => sight.leave());
  const cdp = await watcher();
  const { sessionId, targetId } = await cdp.onPage('?cancel');
  assert.equal(await cdp.evaluate('document.title', sessionId), 'two');
  const never = cdp.evaluate('new Promise(() => {})', sessionId).catch((error) => error);
  await cdp.evaluate('1', sessionId);
  await cancel(at.own);
  await cdp.event('Target.detachedFromTarget', (params) => params.sessionId === sessionId);
  assert.ok(await never instanceof Error, 'what was under way fails');
  const attempt = async (method, params = {}) => {
    const { sessionId: next } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
    return cdp.send(method, params, next);
  };
  await assert.rejects(attempt('Runtime.evaluate', { expression: '1' }), /cancelled[^]*popup[^]*connects anew/);
  await assert.rejects(cdp.send('Target.createTarget', { url: 'about:blank' }), /cancelled/);
  await stays('nothing is attached', async () => await attachedTabs() === 0, 1_500);

  const second = await watcher();
  const page = await second.onPage('?cancel');
  assert.equal(await second.evaluate('document.title', page.sessionId), 'two');
  await assert.rejects(attempt('Runtime.evaluate', { expression: '1' }), /cancelled/, 'the first one is not meant');
  await second.close();
  await resume(at.own);
  await cdp.close();
});

test('Resume in the popup gives the tabs back to who had asked for them', hubOnly, async () => {
  await Sight.open(at.own, at.site.url('/two?resume')).then((sight) => sight.leave());
  const cdp = await watcher();
  await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: true });
  const { targetId } = await cdp.target('?resume');
  const sessions = () => cdp.events.filter(({ method, params }) => method === 'Target.attachedToTarget' && params.targetInfo.targetId === targetId).map(({ params }) => params.sessionId);
  await until('announced', () => sessions().length === 1);
  assert.equal(await cdp.evaluate('document.title', sessions()[0]), 'two');
  await cancel(at.own);
  await cdp.event('Target.detachedFromTarget', (params) => params.sessionId === sessions()[0]);
  await resume(at.own);
  await until('announced anew', () => sessions().length === 2);
  assert.equal(await cdp.evaluate('document.title', sessions()[1]), 'two');
  await cdp.close();
});
