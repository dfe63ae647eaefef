// The person's own Firefox: the connection and the person's side of it. What a page sees of it, what is kept, what the popup shows.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before } from 'node:test';
import { html } from '../e2e/lib/site.mjs';
import { test } from '../e2e/lib/test.mjs';
import { until } from '../e2e/lib/until.mjs';
import { OwnFirefox } from './lib/own-firefox.mjs';

const PAGES = { '/natives': html('natives', '<button id=ask onclick="document.title = String(confirm(\'whose?\'))">ask</button>', `const first = [console.log, alert]; window.isOwn = () => console.log === first[0] && alert === first[1]; window.natives = () => [console.log, alert, confirm, prompt].map((one) => one.name + ' ' + one.length + ' ' + one).concat(Object.getOwnPropertyNames(window).length, document.querySelectorAll('*').length);`) };

let own;
before(async () => { own = await OwnFirefox.start({ pages: PAGES, begin: false }); });
after(async () => { await own?.stop(); });

test('without a session no page has anything of ours, and after it no page has anything left', async () => {
  const { bidi } = own.firefox;
  const outside = await bidi.tab(`${own.site.origin}/natives`);
  const natives = () => bidi.evaluate('JSON.stringify(natives())', outside);
  const before = await natives();
  const isOwn = () => bidi.evaluate('isOwn()', outside);
  assert.equal(await isOwn(), true);

  // Nor do those that no agent works in.
  await own.begin(['browsingContext', 'log', 'network']);
  await own.ask('network.addDataCollector', { dataTypes: ['response'], maxEncodedDataSize: 1_000_000 });
  await bidi.evaluate('fetch("/api").then(() => console.log("said to nobody"))', outside);
  assert.equal(await isOwn(), true);
  const { contexts } = await own.ask('browsingContext.getTree', {});
  const { context } = contexts.find(({ url }) => url.endsWith('/natives'));
  assert.equal(await own.evaluate(context, 'document.title'), 'natives');
  assert.equal(await isOwn(), true, 'who asks for a title has done nothing in it');
  await own.evaluate(context, 'console.log("heard"), fetch("/echo").then(() => 0)');
  await own.event('log.entryAdded', ({ text }) => text === 'heard');
  await own.event('network.responseCompleted', ({ request }) => request.url.endsWith('/echo'));
  assert.equal(await isOwn(), false);
  assert.equal(await natives(), before, 'what is hooked looks as before');
  assert.ok(!own.events('log.entryAdded').some(({ text }) => text === 'said to nobody'));
  assert.ok(!own.events('network.beforeRequestSent').some(({ request }) => request.url.endsWith('/api')));
  await own.ask('session.end');
  await until('the page has its own functions again', isOwn);
  assert.equal(await natives(), before);
  await bidi.send('browsingContext.navigate', { context: outside, url: `${own.site.origin}/natives?again`, wait: 'complete' });
  assert.equal(await natives(), before);
  assert.equal(await isOwn(), true);
  await bidi.send('browsingContext.close', { context: outside });
});

test('a session begins anew after it has ended, in pages that were open all the time', async () => {
  await own.begin();
  const context = await own.open('/');
  assert.equal(await own.evaluate(context, 'document.title'), 'home');
  await own.ask('session.end');
  await assert.rejects(own.ask('session.subscribe', { events: ['log'] }), { code: 'invalid session id' });
  await own.begin();
  assert.equal(await own.evaluate(context, 'document.title'), 'home');
  await own.evaluate(context, 'console.log("again")', undefined);
  await own.event('log.entryAdded', ({ text }) => text === 'again');
});

test('a dropped connection keeps the session, its subscriptions and what happened meanwhile', async () => {
  const context = await own.open('/');
  const node = await own.node(context, 'h1');
  await own.evaluate(context, 'setInterval(() => console.log("tick"), 20), 0');
  const nth = own.hub.links.filter((link) => link.messages.some(({ method }) => method === 'state')).length;
  own.link.socket.terminate();
  own.link = await own.hub.ready(nth + 1);
  const { params: state } = own.link.messages.find(({ method }) => method === 'state');
  assert.equal(state.session, 'kept');
  await own.event('log.entryAdded', ({ text }) => text === 'tick');
  const { result } = await own.ask('script.callFunction', { functionDeclaration: '(one) => one.textContent', arguments: [node], target: { context, sandbox: 'test' }, awaitPromise: false });
  assert.equal(result.value, 'Home');
  // A hub that begins anew ends it first.
  await own.ask('session.end');
  await own.ask('session.new', { capabilities: {} });
  await own.ask('session.subscribe', { events: ['browsingContext', 'log'] });
});

test('a dialog in a tab that no agent works in is the person’s', async () => {
  const { bidi } = own.firefox;
  await bidi.send('session.subscribe', { events: ['browsingContext.userPromptOpened'] });
  const outside = await bidi.tab(`${own.site.origin}/natives?person`);
  const answered = bidi.evaluate('confirm("whose?")', outside);
  const { params: { context } } = await bidi.event('browsingContext.userPromptOpened');
  assert.equal(context, outside);
  assert.equal(own.events('browsingContext.userPromptOpened').length, 0);
  await bidi.send('browsingContext.handleUserPrompt', { context, accept: true });
  assert.equal(await answered, true);

  // The same tab with an agent in it.
  const { contexts } = await own.ask('browsingContext.getTree', {});
  const { context: tab } = contexts.find(({ url }) => url.endsWith('?person'));
  own.link.send('drivers', { tabs: [{ context: tab, clients: ['playwright'] }] });
  await until('its dialogs are the hub’s', () => bidi.evaluate('alert !== first[1]', outside));
  const again = bidi.evaluate('confirm("whose?")', outside);
  const told = await own.event('browsingContext.userPromptOpened');
  assert.equal(told.context, tab);
  await own.ask('browsingContext.handleUserPrompt', { context: tab, accept: false });
  assert.equal(await again, false);

  // The agent leaves one open: the person gets it.
  const left = bidi.evaluate('prompt("and now?", "nobody")', outside);
  await own.event('browsingContext.userPromptOpened', ({ message }) => message === 'and now?');
  own.link.send('drivers', { tabs: [] });
  await bidi.event('browsingContext.userPromptOpened', ({ message }) => message === 'and now?');
  await bidi.send('browsingContext.handleUserPrompt', { context: outside, accept: true, userText: 'a person' });
  assert.equal(await left, 'a person');
  await bidi.send('browsingContext.close', { context: outside });
});

test('the page script of the ops works in the sandbox', async () => {
  const directory = new URL('../../crates/ops/src/page/', import.meta.url);
  const order = JSON.parse(readFileSync(new URL('order.json', directory), 'utf8'));
  const source = `(() => {\n${order.map((file) => readFileSync(new URL(file, directory), 'utf8')).join('\n')}\nreturn api;\n})()`;
  const context = await own.open('/popups');
  await own.evaluate(context, `globalThis.bowlineApi ??= ${source}; 0`, 'bowline');
  const call = async (name, input) => JSON.parse(await own.evaluate(context, `(async () => JSON.stringify(await bowlineApi[${JSON.stringify(name)}](${JSON.stringify(input)}) ?? null))()`, 'bowline'));
  const snapshot = await call('snapshot', { next: 1, prefix: '' });
  assert.match(JSON.stringify(snapshot), /button \\?"open\\?"/);
  const found = await call('find', { locator: 'text=noopener', max: 5, next: 50 });
  assert.ok(JSON.stringify(found).includes('ref'));
  // It waits for the hub's click, and is told that it came and where.
  const { ref } = await call('find', { locator: 'css=#open', max: 1, next: 80 }).then(({ matches }) => matches[0]);
  await call('arm', { ref, block: true, next: 90 });
  await own.click(context, '#open');
  assert.deepEqual(await call('verdict', {}), { arrived: true, hit: true });
  await call('arm', { ref, block: true, next: 90 });
  await own.click(context, '#blank');
  const missed = await call('verdict', {});
  assert.deepEqual([missed.arrived, missed.hit], [true, false]);
});

test('in the manual mode the hub hears which tabs the person has chosen', async () => {
  const context = await own.open('/three');
  const popup = await own.firefox.popup(own.link.origin);
  await popup.click('input[name=mode][value=manual]');
  const { params: policy } = await own.link.message('policy', ({ mode }) => mode === 'manual');
  assert.equal(policy.mode, 'manual');
  const row = `[...document.querySelectorAll('#tabs li')].find((one) => one.textContent.includes('three'))`;
  await until('the tab is in the list', () => popup.evaluate(`${row}?.querySelector('button').textContent === 'Attach'`));
  await popup.evaluate(`void ${row}.querySelector('button').click()`);
  await own.event('bowline.chosen', (told) => told.context === context && told.chosen);
  const { contexts: [tab] } = await own.ask('browsingContext.getTree', { root: context });
  assert.equal(tab['bowline:chosen'], true);
  await until('it can be taken back', () => popup.evaluate(`${row}?.querySelector('button').textContent === 'Detach'`));
  await popup.evaluate(`void ${row}.querySelector('button').click()`);
  await own.event('bowline.chosen', (told) => told.context === context && !told.chosen);
  await popup.click('input[name=mode][value=auto]');
  await own.link.message('policy', ({ mode }) => mode === 'auto');
  await popup.close();
});

test('the popup says who is at work, and has no switch that Firefox has no use for', async () => {
  const context = await own.open('/two');
  const popup = await own.firefox.popup(own.link.origin);
  assert.match(await popup.text('#status'), /Connected as firefox/);
  own.link.send('drivers', { tabs: [{ context, clients: ['playwright'] }] });
  await until('the driver is shown', async () => /playwright/.test(await popup.text('#tabs')));
  assert.equal(await popup.evaluate('document.querySelector("#frames-switch").hidden'), true);
  if (process.env.BOWLINE_SHOTS) await popup.screenshot(`${process.env.BOWLINE_SHOTS}/popup-firefox.png`);
  own.link.send('drivers', { tabs: [] });
  await popup.close();
});

test('no content script gets what belongs to the person', async () => {
  const context = await own.open('/');
  // The key is in the database of the extension's own origin, and only its own pages may speak as the popup.
  const popup = await own.firefox.popup(own.link.origin);
  assert.equal(await popup.evaluate('browser.storage.local.get().then((all) => Object.keys(all).length)'), 0);
  await popup.close();
  assert.equal(await own.evaluate(context, 'typeof browser', 'bowline'), 'undefined');
});
