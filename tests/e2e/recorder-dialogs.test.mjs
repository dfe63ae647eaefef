// Dialogs that nobody answers are dismissed, so that no tab hangs for ever; those that somebody answers
// are left to them.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { withHub } from './lib/life.mjs';
import { Rest } from './lib/rest.mjs';
import { stays } from './lib/stays.mjs';
import { test } from './lib/test.mjs';
import { timed, until, within } from './lib/until.mjs';

const TIMEOUT = 500;

const at = fixture({
  env: { BOWLINE_DIALOGS_TIMEOUT: `${TIMEOUT}ms` },
  async open(own) {
    if (own.target.direct) return;
    own.rest = await Rest.of(own.target);
    own.cdp = await Cdp.connect(own.target.ws);
  },
  close: (own) => own.cdp?.close(),
});

async function open(path) {
  const page = await at.cdp.page(at.site.url(path));
  await until(`${path} loaded`, () => at.cdp.evaluate('document.readyState === "complete" && location.href !== "about:blank"', page.sessionId));
  return { ...page, id: page.targetId, run: (code) => at.cdp.evaluate(code, page.sessionId) };
}

const dismissals = async (tab) => (await at.rest.console(tab)).filter(({ source }) => source === 'Page.javascriptDialogOpening');

test('alert, confirm and prompt that nobody answers are dismissed one after the other, and recorded', hubOnly, async () => {
  const page = await open('/dialogs');
  const { ms } = await timed(() => within(10_000, 'the page goes on', page.run('go()')));
  assert.ok(ms >= 3 * TIMEOUT - 50, `each had its time: ${ms}`);
  assert.deepEqual(await page.run('window.answers.map(String)'), ['undefined', 'false', 'null'], 'dismissed, not accepted');
  const records = await dismissals(page.id);
  assert.deepEqual(records.map(({ type, api }) => [type, api]), [['warn', 'alert'], ['warn', 'confirm'], ['warn', 'prompt']]);
  for (const [i, what] of ['one', 'two', 'three'].entries()) assert.match(records[i].text, new RegExp(`0\\.5s.*: ${what}$`));
});

test('a page that does not want to be left is held for a while and stays', hubOnly, async () => {
  const page = await open('/beforeunload');
  await at.cdp.evaluate('document.querySelector("#touch").click()', page.sessionId, { userGesture: true });
  const left = at.cdp.send('Page.navigate', { url: at.site.url('/two') }, page.sessionId);
  const record = await at.rest.line(page.id, 'beforeunload');
  assert.deepEqual([record.source, record.api], ['Page.javascriptDialogOpening', 'beforeunload']);
  await within(10_000, 'the navigation answered', left.catch((error) => error));
  assert.equal(await page.run('document.title'), 'beforeunload', 'it stays, and goes on');
});

test('a dialog that a client answers is not touched, however it answers', hubOnly, async () => {
  const browser = await chromium.connectOverCDP(at.target.endpoint);
  const page = await browser.contexts()[0].newPage();
  await page.goto(at.site.url('/dialogs'));
  page.on('dialog', async (dialog) => {
    if (dialog.type() === 'prompt') await dialog.accept('typed');
    else await dialog.accept();
  });
  await page.click('#go');
  assert.deepEqual(await page.evaluate(() => window.answers.map(String)), ['undefined', 'true', 'typed']);
  const { id } = await until('its tab', async () => (await at.rest.tabs()).findLast(({ url }) => url.endsWith('/dialogs')));
  // For longer than an unanswered one would have had.
  await stays('no dialog of it is recorded as dismissed', async () => (await dismissals(id)).length === 0, TIMEOUT + 200);
  await browser.close();
});

test('a client that takes its time, but less than the hub gives, is not disturbed', hubOnly, async () => {
  const page = await open('/dialogs');
  await at.cdp.send('Page.enable', {}, page.sessionId);
  const asked = page.run('confirm("slowly")');
  await at.cdp.event('Page.javascriptDialogOpening', ({ message }) => message === 'slowly');
  await stays('the dialog', async () => true, TIMEOUT / 2);
  await at.cdp.send('Page.handleJavaScriptDialog', { accept: true }, page.sessionId);
  assert.equal(await asked, true);
  // The next one has its whole time again.
  const { value, ms } = await timed(() => page.run('confirm("again")'));
  assert.equal(value, false);
  assert.ok(ms >= TIMEOUT - 50, `${ms}`);
  assert.equal((await dismissals(page.id)).length, 1);
});

test('the dialog of a cross-origin frame is dismissed too', hubOnly, async () => {
  const page = await open('/frames');
  const { targetInfos } = await at.cdp.send('Target.getTargets', { filter: [{ type: 'iframe' }] });
  const frame = targetInfos.find(({ url }) => url === `${at.site.other}/frame?other`);
  const { sessionId } = await at.cdp.send('Target.attachToTarget', { targetId: frame.targetId, flatten: true });
  await at.cdp.evaluate('void setTimeout(() => { window.beep = alert("from the frame") ?? "gone on"; })', sessionId, { userGesture: true });
  const record = await at.rest.line(page.id, 'from the frame');
  assert.deepEqual([record.tab, record.api], [page.id, 'alert']);
  await until('it goes on', async () => (await at.cdp.evaluate('window.beep', sessionId)) === 'gone on');
  assert.equal((await dismissals(page.id)).length, 1, 'dismissed once, whoever was told of it');
});

test('0 leaves every dialog alone', hubOnly, () => withHub(async ({ hub }) => {
  const rest = await Rest.of(hub);
  const cdp = await Cdp.connect(hub.endpoint);
  const page = await cdp.page();
  await cdp.send('Page.enable', {}, page.sessionId);
  const asked = cdp.evaluate('confirm("for ever")', page.sessionId);
  await cdp.event('Page.javascriptDialogOpening');
  await stays('nothing is dismissed', async () => (await rest.console(page.targetId)).length === 0, 1_000);
  await cdp.send('Page.handleJavaScriptDialog', { accept: true }, page.sessionId);
  assert.equal(await asked, true);
  await cdp.close();
}, { BOWLINE_DIALOGS_TIMEOUT: '0' }));
