// Pages that make it hard: frames that hang, elements that move away under the mouse, dialogs from before, questions whose answers
// are in frames, and tabs that another client has just opened.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { test } from './lib/test.mjs';
import { Agent } from './lib/agent.mjs';
import { Bidi } from './lib/bidi.mjs';
import { FIREFOX, OWN_FIREFOX, hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { html } from './lib/site.mjs';
import { until } from './lib/until.mjs';

let agent;
const at = fixture({
  pages: {
    '/hung': (url) => html('hung', `<h1>Around</h1><button onclick="document.title='clicked'">Outside</button>
      <iframe src="http://localhost:${url.port}/stuck"></iframe><iframe src="/frame?same"></iframe>`),
    '/around': (url) => html('around', `<h1>Outermost</h1><iframe src="http://localhost:${url.port}/middle"></iframe>`),
    '/middle': (url) => html('middle', `<p>Between</p><iframe src="http://[::1]:${url.port}/stuck"></iframe>`),
    '/churn': (url) => html('churn', '<h1>Restless</h1><div id=d></div>',
      `setInterval(() => { d.innerHTML = '<iframe src="http://localhost:${url.port}/frame"></iframe>'.repeat(2); }, 120)`),
    '/stuck': html('stuck', '<p>Inside</p>', 'setTimeout(() => { for (;;); }, 300)'),
    // The first time the mouse comes near, two buttons change places.
    '/swap': html('swap', `<style>button { position: absolute; left: 20px; width: 120px; height: 40px; }</style>
      <button id=save style="top:20px">Save</button><button id=remove style="top:120px">Remove</button>`,
      `window.log = []; let swapped = false;
       addEventListener('mousemove', () => { if (swapped) return; swapped = true; [save.style.top, remove.style.top] = ['120px', '20px']; });
       for (const b of [save, remove]) for (const kind of ['mousedown', 'click']) b.addEventListener(kind, () => log.push(b.id + ' ' + kind));`),
    '/asks': html('asks', '<p>Asks</p>', `setTimeout(() => { document.title = 'said ' + prompt('Your knot?', 'bowline'); }, 500)`),
    '/framed': (url) => html('framed', `<form><label>Outer <input name=outer></label></form>
      <iframe style="width:400px;height:200px;border:3px solid" src="http://localhost:${url.port}/inner"></iframe>`),
    '/inner': html('inner', '<form><label>Inner <input name=inner></label></form><p>A sheepshank shortens</p>'),
  },
  async open({ target }) { agent = await Agent.of(target); },
});

test('a click never lands on what has taken the place of its element', async () => {
  await agent.open(at.site.url('/swap'));
  await agent.op('click', { target: await agent.ref('button "Save"') });
  assert.deepEqual(await agent.value('log'), ['save mousedown', 'save click']);
});

test('a dialog that was open before the agent came is told and answered', async () => {
  const [host, guest] = [agent.as('host'), agent.as('guest')];
  const { tab } = await host.open(at.site.url('/asks'));
  await until('it is told', async () => (await guest.refused('snapshot', {}, tab)).code === 'dialog_open');
  await guest.op('tabs', { action: 'take', tab });
  const { kind, message } = await guest.op('dialog', { accept: true, text: 'a hitch' }, tab);
  assert.deepEqual([kind, message], ['prompt', 'Your knot?']);
  await until('it was answered', async () => (await guest.op('get', { what: 'title' }, tab)).value === 'said a hitch');
  assert.equal((await guest.refused('dialog', { accept: true }, tab)).code, 'no_dialog');
});

test('forms, texts and points are found in frames, too', async () => {
  await agent.open(at.site.url('/framed'));
  const fields = await until('both forms are there', async () => {
    const { forms } = await agent.op('forms');
    const fields = forms.flatMap((form) => form.fields);
    return fields.length === 2 && fields;
  });
  const [outer, inner] = fields;
  assert.match(outer.ref, /^e\d+$/);
  assert.match(inner.ref, /^f\d+e\d+$/);
  await agent.op('fill', { target: inner.ref, value: 'deep' });
  const { questions } = await agent.op('forms', { structure: true });
  assert.deepEqual(questions.map(({ question, answer }) => [question, answer]), [['Outer', ''], ['Inner', 'deep']]);
  const { found, matches } = await agent.op('inspect', { what: 'search', query: { query: 'sheepshank' } });
  assert.deepEqual([found, matches.length, /^f\d+e\d+$/.test(matches[0].ref)], [true, 1, true]);
  const { value: box } = await agent.op('get', { what: 'box', target: inner.ref });
  const there = await agent.op('inspect', { what: 'at', query: { x: box.x + box.width / 2, y: box.y + box.height / 2 } });
  assert.equal(there.ref, inner.ref);
  assert.deepEqual([Math.round(there.rect.x), Math.round(there.rect.y)], [Math.round(box.x), Math.round(box.y)]);
  assert.match((await agent.refused('inspect', { what: 'at' })).message, /query\.x/);
});

/** Another client with a blank tab: what is in it, and the client's end. */
async function otherClient() {
  if (FIREFOX || OWN_FIREFOX) {
    const bidi = await Bidi.session(at.target.session);
    const tab = await bidi.tab();
    return { url: () => bidi.evaluate('location.href', tab), close: () => bidi.close() };
  }
  const browser = await chromium.connectOverCDP(at.target.endpoint);
  const page = await browser.contexts()[0].newPage();
  return { url: async () => page.url(), close: () => browser.close() };
}

test('an agent does not take a blank tab that another client works with', hubOnly, async () => {
  const other = await otherClient();
  try {
    const newcomer = agent.as('newcomer');
    await newcomer.open(at.site.url('/three'));
    assert.equal(await other.url(), 'about:blank');
    assert.equal((await newcomer.op('get', { what: 'title' })).value, 'three');
  } finally {
    await other.close();
  }
});

test('frames that come and go meanwhile are no error', async () => {
  await agent.open(at.site.url('/churn'));
  for (let i = 0; i < 25; i++) assert.match(await agent.snapshot(), /heading "Restless"/);
  for (let i = 0; i < 10; i++) assert.equal((await agent.op('find', { target: '#nowhere' })).total, 0);
});

// The last: the browser puts other pages of the site into the process that hangs.
test('a frame of another site that hangs hides nothing else', async () => {
  await agent.open(at.site.url('/hung'));
  await until('the frame hangs', async () => (await agent.snapshot()).includes('(this frame does not answer)'));
  const text = await agent.snapshot();
  assert.match(text, /heading "Around"/);
  assert.match(text, /button "hit" \[ref=f\d+e\d+\]/, 'the frame after it is there');
  await agent.op('click', { target: 'text=Outside' });
  assert.equal(await agent.value('document.title'), 'clicked');
  await agent.op('click', { target: 'text=hit' });
  assert.equal((await agent.refused('wait_for', { text: 'nowhere', timeout: 2_500 })).code, 'timeout');
  assert.equal((await agent.refused('click', { target: '#nowhere', timeout: 2_500 })).code, 'not_found');
  await agent.op('tabs', { action: 'close' });
});

test('what is around a frame that hangs is seen, however deep it is', async () => {
  await agent.open(at.site.url('/around'));
  const text = await until('the innermost frame hangs', async () => {
    const text = await agent.snapshot();
    return text.includes('(this frame does not answer)') && text;
  });
  assert.match(text, /Outermost/);
  assert.match(text, /Between/);
  assert.ok((await agent.op('inspect', { what: 'elements' })).elements);
  await agent.op('tabs', { action: 'close' });
});
