// Sessions, targets and page endpoints over a bare WebSocket.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from './lib/test.mjs';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { http } from './lib/http.mjs';
import { timed, until, within } from './lib/until.mjs';

const at = fixture();
let cdp;
beforeEach(async () => {
  cdp = await Cdp.connect(at.target.ws);
});
afterEach(() => cdp.close());

const pageWs = (targetId) => `ws://127.0.0.1:${at.target.port}/devtools/page/${targetId}`;
const WAIT = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };
/** Not awaited: window.open returns only when the popup has been released. */
const openPopup = (opener, path) => void cdp
  .evaluate(`void window.open("${path}", "", "noopener")`, opener, { userGesture: true })
  .catch(() => {});
/** In one go, as clients do: a waiting page answers nothing before it is released. */
const setUpAndRelease = (client, sessionId, early) => Promise.all([
  client.send('Page.enable', {}, sessionId),
  client.send('Page.addScriptToEvaluateOnNewDocument', { source: `window.early = "${early}"` }, sessionId),
  client.send('Runtime.runIfWaitingForDebugger', {}, sessionId),
]);
const NEVER = 'new Promise(() => {})';

test('an unknown session is answered -32001', async () => {
  await assert.rejects(cdp.send('Runtime.evaluate', { expression: '1' }, 'NOPE'), {
    code: -32001, answer: 'Session with given id not found.',
  });
});

test('a session of another client is unknown, and what is sent to it does nothing', async () => {
  const other = await Cdp.connect(at.target.ws);
  const { sessionId } = await other.page();
  await assert.rejects(cdp.send('Runtime.evaluate', { expression: 'window.touched = 1' }, sessionId), { code: -32001 });
  await assert.rejects(cdp.send('Target.detachFromTarget', { sessionId }));
  assert.equal(await other.evaluate('window.touched', sessionId), undefined);
  await other.close();
});

test('a detached session is unknown from then on', async () => {
  const { sessionId, targetId } = await cdp.page();
  await cdp.send('Target.detachFromTarget', { sessionId });
  const { params } = await cdp.event('Target.detachedFromTarget', (p) => p.sessionId === sessionId);
  assert.equal(params.targetId, targetId);
  await assert.rejects(cdp.send('Runtime.evaluate', { expression: '1' }, sessionId), { code: -32001 });
});

test('attaching flat gives an event, then the same session in the answer', async () => {
  const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
  const { params } = await cdp.event('Target.attachedToTarget', (p) => p.targetInfo.targetId === targetId);
  assert.equal(params.sessionId, sessionId);
  assert.equal(await cdp.evaluate('6 * 7', sessionId), 42);
});

test('attaching twice gives two sessions with events of their own', async () => {
  const first = await cdp.page();
  const { sessionId: second } = await cdp.send('Target.attachToTarget', { targetId: first.targetId, flatten: true });
  assert.notEqual(second, first.sessionId);
  await cdp.send('Runtime.enable', {}, second);
  await cdp.evaluate('console.log("only for the second")', first.sessionId);
  await cdp.event('Runtime.consoleAPICalled', (_, session) => session === second);
  assert.equal(cdp.events.some((e) => e.method === 'Runtime.consoleAPICalled' && e.sessionId === first.sessionId), false);
});

test('attaching without flatten wraps messages', async () => {
  const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId });
  const message = JSON.stringify({ id: 5, method: 'Runtime.evaluate', params: { expression: '6 * 7' } });
  await cdp.send('Target.sendMessageToTarget', { sessionId, message });
  const { params } = await cdp.event('Target.receivedMessageFromTarget', (p) => p.sessionId === sessionId);
  assert.equal(JSON.parse(params.message).result.result.value, 42);
  assert.equal(JSON.parse(params.message).id, 5);
});

test('a browser session below the browser socket works and can be left', async () => {
  const { sessionId } = await cdp.send('Target.attachToBrowserTarget');
  assert.ok((await cdp.send('Browser.getVersion', {}, sessionId)).product);
  const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' }, sessionId);
  const { sessionId: page } = await cdp.send('Target.attachToTarget', { targetId, flatten: true }, sessionId);
  assert.equal(await cdp.evaluate('1 + 1', page), 2);
  await cdp.send('Target.detachFromTarget', { sessionId });
  await assert.rejects(cdp.send('Runtime.evaluate', { expression: '1' }, page), { code: -32001 });
});

test('discovery tells of targets that are, come, change and go', async () => {
  const { targetId: old } = await cdp.send('Target.createTarget', { url: 'about:blank' });
  await cdp.send('Target.setDiscoverTargets', { discover: true });
  await cdp.event('Target.targetCreated', (p) => p.targetInfo.targetId === old);
  const { targetId } = await cdp.send('Target.createTarget', { url: at.site.url('/two') });
  await cdp.event('Target.targetCreated', (p) => p.targetInfo.targetId === targetId);
  await cdp.event('Target.targetInfoChanged', (p) => p.targetInfo.targetId === targetId);
  await cdp.send('Target.closeTarget', { targetId });
  await cdp.event('Target.targetDestroyed', (p) => p.targetId === targetId);
  await cdp.send('Target.setDiscoverTargets', { discover: false });
  const before = cdp.events.length;
  await cdp.page();
  assert.equal(cdp.events.slice(before).some((e) => e.method === 'Target.targetCreated'), false);
});

test('a popup waits for its debugger, so that init scripts come first', async () => {
  const { sessionId: opener } = await cdp.page(at.site.url('/popups'));
  await cdp.send('Target.setAutoAttach', WAIT);
  openPopup(opener, '/two?waits');
  const { params } = await cdp.event('Target.attachedToTarget', (p) => p.waitingForDebugger);
  const { sessionId } = params;
  await setUpAndRelease(cdp, sessionId, 'early');
  await until('the popup has run', () => cdp.evaluate('document.title === "two"', sessionId));
  assert.equal(await cdp.evaluate('window.sawEarly', sessionId), 'early');
});

test('a popup that two clients wait for runs when both have released it', hubOnly, async () => {
  const { sessionId: opener } = await cdp.page(at.site.url('/popups'));
  const clients = [cdp, await Cdp.connect(at.target.ws)];
  await Promise.all(clients.map((client) => client.send('Target.setAutoAttach', WAIT)));
  openPopup(opener, '/two?both');
  const sessions = await Promise.all(clients.map(async (client) =>
    (await client.event('Target.attachedToTarget', (p) => p.waitingForDebugger)).params.sessionId));
  // The first lets go at once, and the hub has seen that before the second adds its script.
  const first = clients[0].send('Runtime.runIfWaitingForDebugger', {}, sessions[0]);
  await clients[0].send('Browser.getVersion');
  await Promise.all([first, setUpAndRelease(clients[1], sessions[1], 'second')]);
  await until('the popup has run', () => cdp.evaluate('document.title === "two"', sessions[0]));
  assert.equal(await cdp.evaluate('window.sawEarly', sessions[0]), 'second');
  await clients[1].close();
});

test('a popup that a second client waits for runs when that client leaves', hubOnly, async () => {
  const { sessionId: opener } = await cdp.page(at.site.url('/popups'));
  const lazy = await Cdp.connect(at.target.ws);
  for (const client of [cdp, lazy]) await client.send('Target.setAutoAttach', WAIT);
  openPopup(opener, '/two?lazy');
  const { params: { sessionId } } = await cdp.event('Target.attachedToTarget', (p) => p.waitingForDebugger);
  await lazy.event('Target.attachedToTarget', (p) => p.waitingForDebugger);
  const released = cdp.send('Runtime.runIfWaitingForDebugger', {}, sessionId);
  await lazy.close();
  await released;
  await until('the popup has run', () => cdp.evaluate('document.title === "two"', sessionId));
});

test('cross-origin frames and workers of a page attach below it', async () => {
  const { sessionId } = await cdp.page();
  await cdp.send('Target.setAutoAttach', { ...WAIT, waitForDebuggerOnStart: false }, sessionId);
  await cdp.send('Page.navigate', { url: at.site.url('/frames') }, sessionId);
  const frame = await cdp.event('Target.attachedToTarget', (p, s) => s === sessionId && p.targetInfo.type === 'iframe');
  assert.equal(await cdp.evaluate('location.hostname', frame.params.sessionId), 'localhost');
  await cdp.send('Page.navigate', { url: at.site.url('/workers') }, sessionId);
  const worker = await cdp.event('Target.attachedToTarget', (p, s) => s === sessionId && p.targetInfo.type === 'worker');
  await until('the worker\'s script has run', async () =>
    (await cdp.evaluate('self.kind', worker.params.sessionId)) === 'dedicated');
  await cdp.event('Target.detachedFromTarget', (p, s) => s === sessionId && p.sessionId === frame.params.sessionId);
  await assert.rejects(cdp.send('Runtime.enable', {}, frame.params.sessionId), { code: -32001 });
});

test('a page endpoint speaks without session ids', async () => {
  const { targetId } = await cdp.page(at.site.url('/two'));
  const page = await Cdp.connect(pageWs(targetId));
  assert.equal(await page.evaluate('6 * 7'), 42);
  await page.send('Runtime.enable');
  await page.evaluate('console.log("here")');
  const event = await page.event('Runtime.consoleAPICalled');
  assert.equal('sessionId' in event, false);
  await assert.rejects(page.send('Target.createBrowserContext'), { answer: 'Not allowed' });
  await page.close();
});

test('two clients on one page endpoint get only what each enabled', async () => {
  const { targetId } = await cdp.page();
  const [one, two] = await Promise.all([Cdp.connect(pageWs(targetId)), Cdp.connect(pageWs(targetId))]);
  await one.send('Runtime.enable');
  await two.evaluate('console.log("for the first")');
  await one.event('Runtime.consoleAPICalled');
  await two.send('Browser.getVersion');
  assert.deepEqual(two.events, []);
  await one.close();
  assert.equal(await two.evaluate('1'), 1);
  await two.close();
});

test('a page endpoint sees its page close: Inspector.detached, then the socket closes', async () => {
  const { targetId } = await cdp.page();
  const page = await Cdp.connect(pageWs(targetId));
  await page.send('Runtime.enable');
  await http(at.target.endpoint, `/json/close/${targetId}`);
  await page.event('Inspector.detached', ({ reason }) => reason === 'target_closed');
  await within(5_000, 'the socket closed', page.closed);
  assert.equal(page.events.at(-1).params.reason, 'target_closed', 'nothing comes after it');
});

/** A page that is still on its way cannot be crashed. */
const loaded = (sessionId) =>
  until('the page is there', () => cdp.evaluate('document.readyState === "complete" && document.title !== ""', sessionId));

test('a crashed page says so and stays attached', async () => {
  const { sessionId, targetId } = await cdp.page(at.site.url('/'));
  const bystander = await cdp.page(`${at.site.other}/two`);
  await loaded(sessionId);
  await cdp.send('Inspector.enable', {}, sessionId);
  await cdp.send('Target.setDiscoverTargets', { discover: true });
  cdp.send('Page.crash', {}, sessionId).catch(() => {});
  await cdp.event('Inspector.targetCrashed', (_, s) => s === sessionId);
  await cdp.event('Target.targetCrashed', (p) => p.targetId === targetId);
  assert.equal(await cdp.evaluate('1 + 1', bystander.sessionId), 2);
});

test('commands pending on a page that closes are answered', hubOnly, async () => {
  const { sessionId, targetId } = await cdp.page();
  const pending = Array.from({ length: 20 }, () => assert.rejects(cdp.evaluate(NEVER, sessionId)));
  await cdp.send('Target.closeTarget', { targetId });
  const { ms } = await timed(() => within(2_000, 'twenty answers', Promise.all(pending)));
  assert.ok(ms < 2_000);
});

test('commands pending on a page that crashes are answered', hubOnly, async () => {
  const { sessionId } = await cdp.page(at.site.url('/'));
  await loaded(sessionId);
  const pending = Array.from({ length: 20 }, () => assert.rejects(cdp.evaluate(NEVER, sessionId)));
  pending.push(assert.rejects(cdp.send('Page.crash', {}, sessionId)));
  await within(3_000, 'every answer', Promise.all(pending));
});

test('commands of a crashed page are answered once, although Chromium answers them at a reload', hubOnly, async () => {
  const { sessionId } = await cdp.page(at.site.url('/'));
  await loaded(sessionId);
  const pending = assert.rejects(cdp.evaluate(NEVER, sessionId));
  cdp.send('Page.crash', {}, sessionId).catch(() => {});
  await within(3_000, 'the answer', pending);
  await cdp.send('Page.reload', {}, sessionId);
  await until('the page is back', () => cdp.evaluate('document.title === "home"', sessionId));
  assert.deepEqual(cdp.events.filter(({ id }) => id !== undefined), [], 'no answer came twice');
});

test('commands pending on a session that is detached are answered', hubOnly, async () => {
  const { sessionId } = await cdp.page();
  const pending = assert.rejects(cdp.evaluate(NEVER, sessionId));
  await cdp.send('Target.detachFromTarget', { sessionId });
  await within(2_000, 'the answer', pending);
});

test('commands pending on a page endpoint are answered before it closes', hubOnly, async () => {
  const { targetId } = await cdp.page();
  const page = await Cdp.connect(pageWs(targetId));
  const pending = page.evaluate(NEVER).catch((error) => error);
  await http(at.target.endpoint, `/json/close/${targetId}`);
  const error = await within(2_000, 'the answer', pending);
  assert.equal(typeof error.code, 'number', `a protocol error, not ${error.message}`);
  await within(2_000, 'the socket closed', page.closed);
});

test('a client that leaves takes its disposeOnDetach contexts along, and no others', async () => {
  const guest = await Cdp.connect(at.target.ws);
  const { browserContextId: going } = await guest.send('Target.createBrowserContext', { disposeOnDetach: true });
  const { browserContextId: staying } = await guest.send('Target.createBrowserContext');
  await guest.close();
  const contexts = async () => (await cdp.send('Target.getBrowserContexts')).browserContextIds;
  await until('the guest\'s context gone', async () => !(await contexts()).includes(going));
  assert.ok((await contexts()).includes(staying));
  await cdp.send('Target.disposeBrowserContext', { browserContextId: staying });
});

test('a session that is not flat is unknown in an envelope', async () => {
  const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: false });
  const answer = within(5_000, 'an answer', cdp.send('Runtime.evaluate', { expression: '1' }, sessionId));
  await assert.rejects(answer, { code: -32001 });
  await cdp.send('Target.closeTarget', { targetId });
});
