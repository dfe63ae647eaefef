// Init scripts of several clients: all of them run before the first script of a new page.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const at = fixture();
const ROUNDS = 10;

/**
 * The page `/two` copies `early` into `sawEarly` in its own first script. A mark may be there twice:
 * a popup's first page can inherit the window of the empty one before it.
 */
const mark = (name) => `window.early = [...(window.early ?? []), ${JSON.stringify(name)}]`;

test('two Playwrights: both init scripts run before a popup\'s own', hubOnly, async () => {
  const browsers = await Promise.all([1, 2].map(() => chromium.connectOverCDP(at.target.endpoint)));
  const [one, two] = browsers.map((browser) => browser.contexts()[0]);
  await one.addInitScript(mark('one'));
  await two.addInitScript(mark('two'));
  const seen = new Promise((resolve) => two.once('page', resolve));
  const opener = await one.newPage();
  await opener.goto(at.site.url('/popups'));
  const shared = await within(10_000, 'the other client sees the page', seen);
  await shared.waitForLoadState();
  for (let i = 0; i < ROUNDS; i++) {
    // Each opens it in turn, by a click or a link.
    const [page, context] = i % 2 ? [shared, two] : [opener, one];
    const other = context === one ? two : one;
    const theirs = new Promise((resolve) => other.once('page', resolve));
    const how = i % 3 ? '#open' : '#blank';
    const [popup] = await Promise.all([context.waitForEvent('page'), page.click(how)]);
    await popup.waitForLoadState();
    const marks = new Set(await popup.evaluate(() => window.sawEarly));
    assert.deepEqual([...marks].sort(), ['one', 'two'], `popup ${i}, ${how}`);
    const twin = await within(5_000, 'the other client sees the popup', theirs);
    assert.equal(await twin.title(), 'two');
    const closed = twin.waitForEvent('close');
    await popup.close();
    await closed;
  }
  await opener.close();
  await Promise.all(browsers.map((browser) => browser.close()));
});

/** A raw client that stops every new page at its start. */
async function stopper() {
  const cdp = await Cdp.connect(at.target.ws);
  await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true });
  const held = async (url) => {
    const { params } = await cdp.event('Target.attachedToTarget',
      ({ targetInfo, waitingForDebugger }) => waitingForDebugger && targetInfo.openerId === url);
    return params.sessionId;
  };
  const release = (sessionId) => cdp.send('Runtime.runIfWaitingForDebugger', {}, sessionId);
  return { cdp, held, release };
}

/** A page that opens a popup, and two raw clients that stop it. */
async function heldPopup(body) {
  const user = await Cdp.connect(at.target.ws);
  const opener = await user.page(at.site.url('/popups'));
  await until('the opener loaded', async () => (await user.evaluate('document.title', opener.sessionId)) === 'popups');
  const [early, late] = [await stopper(), await stopper()];
  const opened = user.evaluate('void window.open("/two?popup")', opener.sessionId, { userGesture: true });
  const sessions = await Promise.all([early.held(opener.targetId), late.held(opener.targetId)]);
  try {
    await body({ early, late, sessions });
    await opened;
  } finally {
    await user.send('Target.closeTarget', { targetId: opener.targetId });
    for (const { cdp } of [{ cdp: user }, early, late]) await cdp.close();
  }
}

const sawEarly = ({ cdp }, session) => until('the popup loaded', async () =>
  (await cdp.evaluate('document.title === "two" && { early: window.sawEarly ?? [] }', session)), 5_000);

test('a client that releases early does not start the page under one that is late', hubOnly, () => heldPopup(async ({ early, late, sessions }) => {
  let answered = false;
  const released = early.release(sessions[0]).then(() => { answered = true; });
  // Answered after it, so the release has gone its way, if it was let.
  await early.cdp.send('Browser.getVersion');
  assert.equal(answered, false, 'the release waits');
  await late.cdp.send('Page.enable', {}, sessions[1]);
  await late.cdp.send('Page.addScriptToEvaluateOnNewDocument', { source: mark('late') }, sessions[1]);
  await late.release(sessions[1]);
  await within(5_000, 'the early release answered', released);
  assert.ok((await sawEarly(late, sessions[1])).early.includes('late'));
}));

for (const [what, leave] of [
  ['that leaves', async ({ cdp }) => { await cdp.close(); }],
  ['that is cut off', async ({ cdp }) => { cdp.socket.terminate(); await cdp.closed; }],
  ['that detaches', ({ cdp }, sessionId) => cdp.send('Target.detachFromTarget', { sessionId })],
]) {
  test(`a page does not wait for a client ${what} without releasing it`, hubOnly, () => heldPopup(async ({ early, late, sessions }) => {
    const released = early.release(sessions[0]);
    await early.cdp.send('Browser.getVersion');
    await leave(late, sessions[1]);
    await within(5_000, 'the release answered', released);
    await sawEarly(early, sessions[0]);
  }));
}
