// Ops in a Firefox that the hub has launched, as far as it differs: each frame has a mouse and a keyboard of its own there, drops
// are the page script's, and what cannot be done is said. The ops themselves are tested by the files of ops (E2E_TARGET=firefox).
import assert from 'node:assert/strict';
import { test } from './lib/test.mjs';
import { Agent } from './lib/agent.mjs';
import { differences } from './lib/cannot.mjs';
import { fixture } from './lib/fixture.mjs';
import { startFirefox } from './lib/hub.mjs';
import { html } from './lib/site.mjs';
import { until } from './lib/until.mjs';

const piece = (id) => `<div id=${id} draggable=true style="width:80px;height:40px;background:#9cf">Piece</div>`;
const BOX = '<div id=box style="width:120px;height:80px;background:#fc9">Box</div>';
/** Writes down what happens, and takes what is dropped. */
const SCRIPT = `window.log = [];
  for (const kind of ['dragstart', 'dragenter', 'drop', 'dragend', 'mousedown', 'click']) addEventListener(kind, (e) => log.push(kind + ' ' + e.target.id));
  lump.addEventListener('dragstart', (e) => { e.dataTransfer.setData('text/plain', 'lump'); e.stopPropagation(); });
  box.ondragover = (e) => e.preventDefault();
  box.ondrop = (e) => { window.dropped = e.dataTransfer.getData('text/plain'); };`;

let agent;
let fetched = 0;
const at = fixture({
  target: startFirefox,
  pages: {
    '/around': (url) => html('around', `<h1 id=h>Outside</h1>${piece('piece')}<p id=plain style="width:80px">Plain</p>
      <iframe style="position:absolute;left:200px;top:20px;width:400px;height:300px;border:5px solid" src="http://localhost:${url.port}/inside"></iframe>`,
    `window.log = []; piece.addEventListener('dragstart', (e) => { e.dataTransfer.setData('text/plain', 'from outside'); log.push('dragstart'); });
     piece.addEventListener('dragend', (e) => log.push('dragend ' + e.dataTransfer.dropEffect));
     plain.onmousedown = () => log.push('pressed');`),
    '/inside': html('inside', `<p style="height:30px">Inside</p>${piece('lump')}${BOX}<input id=field>`, SCRIPT),
    '/kept': { answer: (_, response) => { fetched += 1; response.setHeader('cache-control', 'max-age=600'); response.end(`<title>kept ${fetched}</title>`); } },
  },
  async open({ target }) { agent = await Agent.of(target); },
});

/** The page with a frame of another site, and refs of what is in it. */
async function around() {
  await agent.open(at.site.url('/around'));
  const { matches } = await until('the frame is there', async () => {
    const found = await agent.op('find', { target: '#box' });
    return found.total === 1 && found;
  });
  const inside = async (expression) => (await agent.op('evaluate', { target: matches[0].ref, expression: `() => ${expression}` })).value;
  return { box: matches[0].ref, inside };
}

test('what is dragged within a frame of another site is dropped once, and the frame hears the mouse afterwards', async () => {
  const { box, inside } = await around();
  await agent.op('drag', { from: '#lump', to: box });
  assert.equal(await inside('window.dropped'), 'lump');
  assert.deepEqual((await inside('log')).filter((line) => /drop|dragend/.test(line)), ['drop box', 'dragend lump']);
  await agent.op('click', { target: box });
  assert.equal((await inside('log')).at(-1), 'click box');
});

test('what is draggable is dragged into a frame of another site; what is not is refused before it is pressed', async () => {
  const { box, inside } = await around();
  await agent.op('drag', { from: '#piece', to: box });
  assert.equal(await inside('window.dropped'), 'from outside');
  assert.deepEqual(await inside('log'), ['dragenter box', 'drop box']);
  assert.deepEqual(await agent.value('log'), ['dragstart', 'dragend copy']);
  const refused = await agent.refused('drag', { from: '#plain', to: box });
  assert.deepEqual([refused.code, refused.message], ['not_supported', reasonOf('drag', 'to')]);
  assert.deepEqual(await agent.value('log'), ['dragstart', 'dragend copy']);
});

test('a point of the view is one of the frame that lies there, and keys go where the focus is', async () => {
  const { inside } = await around();
  const field = (await agent.op('find', { target: '#field' })).matches[0].ref;
  const { value: rect } = await agent.op('get', { what: 'box', target: field });
  await agent.op('mouse', { action: 'click', x: rect.x + 5, y: rect.y + 5 });
  assert.equal((await inside('log')).at(-1), 'click field');
  await agent.op('type', { text: 'Bowlines', slowly: true });
  await agent.op('press_key', { key: 'Shift+ArrowLeft' });
  await agent.op('press_key', { key: 'Delete' });
  assert.equal(await inside('field.value'), 'Bowline');
  await agent.op('press_key', { key: 'Control+A' });
  await agent.op('type', { text: 'Hitch' });
  assert.equal(await inside('field.value'), 'Hitch');
  await agent.op('mouse', { action: 'click', x: 5, y: 5 });
  await agent.op('press_key', { key: 'x' });
  assert.equal(await inside('field.value'), 'Hitch', 'the focus has left the frame');
});

test('a double click is one, and two clicks are none', async () => {
  await agent.open(at.site.url('/around'));
  await agent.value(`window.counts = []; h.ondblclick = () => counts.push('double'); h.onclick = (e) => counts.push(e.detail)`);
  await agent.op('click', { target: '#h', double: true });
  assert.deepEqual(await agent.value('counts.splice(0)'), [1, 2, 'double']);
  for (const _ of [1, 2]) await agent.op('click', { target: '#h' });
  assert.deepEqual(await agent.value('counts'), [1, 1]);
});

test('a tab behind another draws, and its timers are on time', async () => {
  await agent.open(at.site.url('/two'));
  assert.equal(await agent.value('document.visibilityState'), 'hidden');
  const many = (next) => `new Promise((done) => { let n = 0; const f = () => (++n === 30 ? done(n) : ${next}); f(); })`;
  const asked = { timeout: 10_000 };
  assert.equal((await agent.op('evaluate', { expression: many('requestAnimationFrame(f)'), ...asked })).value, 30);
  assert.equal((await agent.op('evaluate', { expression: many('setTimeout(f, 5)'), ...asked })).value, 30);
});

test('a page is fetched anew when that is asked for, and from the cache afterwards', async () => {
  await agent.open(at.site.url('/kept'));
  const before = fetched;
  assert.equal((await agent.op('reload', { ignore_cache: true })).title, `kept ${before + 1}`);
  await agent.open(at.site.url('/two'));
  assert.equal((await agent.open(at.site.url('/kept'))).title, `kept ${before + 1}`);
});

const reasonOf = (op, field) => differences().find((row) => row.op === op && row.field === field).reason;

test('what Firefox cannot do is refused in the words of the table', async () => {
  await agent.open(at.site.url('/two'));
  const ASKED = {
    trace: { action: 'start' }, execute: { code: '1' }, 'navigate.url': { url: 'about:config' },
    'emulate.cpu': { cpu: 4 }, 'emulate.color_scheme': { color_scheme: 'dark' }, 'emulate.network': { network: 'slow 3g' },
  };
  const rows = differences().filter(({ op, effect }) => effect === 'refused' && op !== 'drag');
  assert.deepEqual(rows.map(({ op, field }) => (field ? `${op}.${field}` : op)).sort(), Object.keys(ASKED).sort());
  for (const { op, field, reason } of rows) {
    const refused = await agent.refused(op, ASKED[field ? `${op}.${field}` : op]);
    assert.deepEqual([refused.status, refused.code, refused.message], [501, 'not_supported', reason]);
  }
  const late = await agent.refused('evaluate', { expression: 'new Promise(() => {})', timeout: 300 });
  assert.deepEqual([late.code, late.message.includes(reasonOf('evaluate', 'timeout'))], ['timeout', true]);
});
