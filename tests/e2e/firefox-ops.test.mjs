// Ops in a Firefox that the hub has launched: the same words, the same answers, and what Firefox cannot do is said.
import assert from 'node:assert/strict';
import { test } from './lib/test.mjs';
import { Agent } from './lib/agent.mjs';
import { fixture } from './lib/fixture.mjs';
import { html } from './lib/site.mjs';
import { until } from './lib/until.mjs';

let agent;
const at = fixture({
  pages: {
    '/form': html('form', `<h1>Order</h1><form id=f onsubmit="event.preventDefault(); document.title = 'sent ' + JSON.stringify(Object.fromEntries(new FormData(this)))">
      <label>Name <input name=name></label><label><input type=checkbox name=news> News</label>
      <label>Colour <select name=colour><option value=r>Red<option value=b>Blue</select></label><button>Send</button></form>
      <a href=/two>Next page</a> <a href=/two target=_blank>Another tab</a>`),
  },
  async open({ target }) {
    agent = await Agent.of(target);
    await agent.rest.ask('POST', '/browsers/firefox/launch', { body: {} });
    agent.browser = 'firefox';
  },
});

test('it is gone to, looked at, filled in and clicked by refs and locators, with real input', async () => {
  const there = await agent.open(at.site.url('/form'));
  assert.deepEqual([there.title, there.status], ['form', 200]);
  const text = await agent.snapshot();
  for (const line of [/heading "Order" \[level=1\] \[ref=e\d+\]/, /textbox "Name" \[ref=e\d+\]/, /checkbox "News"/, /button "Send"/]) assert.match(text, line);
  await agent.op('fill', { target: await agent.ref('textbox "Name"'), value: 'Ada' });
  await agent.op('check', { target: 'label=News' });
  await agent.op('select_option', { target: 'label=Colour', values: ['Blue'] });
  await agent.op('click', { target: 'text=Send' });
  const title = await until('it was sent', async () => (await agent.op('get', { what: 'title' })).value.match(/^sent (.*)/)?.[1]);
  assert.deepEqual(JSON.parse(title), { name: 'Ada', news: 'on', colour: 'b' });
  await agent.op('click', { target: 'label=Name' });
  await agent.op('press_key', { key: 'Control+A' });
  await agent.op('type', { text: 'Grace' });
  assert.equal(await agent.value('f.elements.name.value'), 'Grace');
  const stale = await agent.ref('button "Send"');
  await agent.open(at.site.url('/form'));
  assert.equal((await agent.refused('click', { target: stale })).code, 'stale_ref');
});

test('clicks tell what they changed, and the history is travelled', async () => {
  await agent.open(at.site.url('/form'));
  assert.equal((await agent.op('click', { target: 'text=Next page' })).changes.url, at.site.url('/two'));
  assert.equal((await agent.op('back')).url, at.site.url('/form'));
  const opened = await agent.op('click', { target: 'text=Another tab' });
  assert.equal(opened.changes.new_tabs.length, 1);
  await agent.op('tabs', { action: 'close', tab: opened.changes.new_tabs[0].tab });
  assert.equal((await agent.refused('navigate', { url: 'http://127.0.0.1:9/' })).code, 'navigation_failed');
});

test('scripts: expressions, statements, elements, exceptions', async () => {
  await agent.open(at.site.url('/form'));
  assert.deepEqual(await agent.value('({ a: [1, null, "x"] })'), { a: [1, null, 'x'] });
  assert.equal(await agent.value('const x = 3; return x * 2'), 6);
  assert.equal(await agent.value('await Promise.resolve(5)'), 5);
  assert.equal((await agent.op('evaluate', { target: 'text=Send', expression: 'el => el.tagName' })).value, 'BUTTON');
  const threw = await agent.refused('evaluate', { expression: 'nothingThere.at' });
  assert.deepEqual([threw.code, /nothingThere/.test(threw.message)], ['page_threw', true]);
});

test('frames of the same and of another site are seen, and the former acted in', async () => {
  await agent.open(at.site.url('/frames'));
  const text = await until('both frames are there', async () => {
    const text = await agent.snapshot();
    return text.split('button "hit"').length === 3 && text;
  });
  const [, ref] = text.match(/button "hit" \[ref=(f\d+e\d+)\]/);
  await agent.op('click', { target: ref });
  assert.equal((await agent.op('evaluate', { target: ref, expression: 'el => el.ownerDocument.title' })).value, 'hit 1');
});

test('dialogs, pictures, paper, cookies', async () => {
  await agent.open(at.site.url('/dialogs'));
  const asked = await agent.op('click', { target: '#go' });
  assert.deepEqual([asked.changes.dialog.kind, asked.changes.dialog.message], ['alert', 'one']);
  const answer = (input) => until('the dialog is there', async () => (await agent.ask('dialog', input)).success);
  await answer({ accept: true });
  await answer({ accept: true });
  await answer({ accept: true, text: 'typed' });
  assert.deepEqual(await until('all are answered', async () => agent.value('window.answers')), [null, true, 'typed']);
  const shot = await agent.op('screenshot');
  assert.equal(Buffer.from(shot.media[0].data, 'base64').subarray(1, 4).toString(), 'PNG');
  assert.equal(Buffer.from((await agent.op('pdf')).data, 'base64').subarray(0, 4).toString(), '%PDF');
  await agent.op('cookies', { action: 'set', name: 'knot', value: 'bowline' });
  assert.ok((await agent.op('cookies')).cookies.some((cookie) => cookie.name === 'knot' && cookie.value === 'bowline'));
  assert.match(await agent.value('document.cookie'), /knot=bowline/);
});

test('what Firefox cannot do is said so', async () => {
  await agent.open(at.site.url('/form'));
  for (const [op, input] of [['trace', { action: 'start' }], ['emulate', { cpu: 4 }]]) {
    const refused = await agent.refused(op, input);
    assert.deepEqual([refused.status, refused.code, /Firefox/.test(refused.message)], [501, 'not_supported', true]);
  }
});
