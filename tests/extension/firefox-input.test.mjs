// The person's own Firefox: mouse, keyboard, wheel, drags and files, made of events in the page.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { html } from '../e2e/lib/site.mjs';
import { test } from '../e2e/lib/test.mjs';
import { until } from '../e2e/lib/until.mjs';
import { OwnFirefox } from './lib/own-firefox.mjs';

const ENTER = '\ue007';
const TAB = '\ue004';
const BACKSPACE = '\ue003';
const CONTROL = '\ue009';

const RECORD = `window.seen = []; for (const name of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'auxclick', 'contextmenu', 'keydown', 'keypress', 'beforeinput', 'input', 'keyup', 'change', 'focus', 'submit'])
  document.addEventListener(name, (event) => event.target.id && seen.push(name + ':' + event.target.id + (event.detail ? ':' + event.detail : '')), true);`;

const PAGES = {
  '/clicks': html('clicks', `<button id=go onclick="go.textContent = event.detail + ' ' + event.button + ' ' + event.ctrlKey + ' ' + Math.round(event.clientX)">go</button>
     <label id=label>box <input id=box type=checkbox></label> <a id=link href=/two>two</a> <details><summary id=summary>more</summary><p>inside</p></details>
     <button id=off disabled>off</button> <div id=host style="display:inline-block"></div>`, `${RECORD} host.attachShadow({ mode: 'closed' }).innerHTML = '<button id=deep onclick="document.title = String(2 + 3)">deep</button>';`),
  '/form': html('form', `<form id=form action=/two><input id=name name=name autofocus> <input id=second name=second value=old> <textarea id=text></textarea>
     <select id=select name=kind><option>one<option>two<option>three</select> <input id=r1 type=radio name=r value=1 checked><input id=r2 type=radio name=r value=2>
     <input id=number type=number value=3> <button id=send>send</button></form> <div id=edit contenteditable>ab</div>`, RECORD),
  '/drag': html('drag', `<div id=from draggable=true style="width:100px;height:60px;background:#8bf">drag me</div><div id=to style="width:200px;height:100px;background:#fb8;margin-top:50px">here</div>
     <div id=slider style="width:200px;height:20px;background:#ccc;margin-top:20px"></div>`,
    `window.seen = [];
     for (const name of ['dragstart', 'dragenter', 'dragover', 'drop', 'dragend']) document.addEventListener(name, (event) => { if (seen.at(-1) !== name + ':' + event.target.id) seen.push(name + ':' + event.target.id); });
     from.ondragstart = (event) => event.dataTransfer.setData('text/plain', 'knot');
     to.ondragover = (event) => event.preventDefault();
     to.ondrop = (event) => { event.preventDefault(); to.textContent = event.dataTransfer.getData('text/plain'); };
     slider.onpointerdown = () => { slider.onpointermove = (event) => { slider.textContent = String(event.buttons) + ' ' + Math.round(event.offsetX / 50); }; };`),
  '/across': (url) => html('across', `<div id=from draggable=true style="width:100px;height:60px;background:#8bf">drag me</div><iframe id=frame src="http://localhost:${url.port}/target" style="border:0;width:300px;height:200px"></iframe>`,
    `window.seen = []; from.ondragstart = (event) => event.dataTransfer.setData('text/plain', 'from outside'); from.ondragend = () => seen.push('dragend');`),
  '/target': html('target', '<div id=to style="width:250px;height:150px;background:#fb8">here</div>', `to.ondragover = (event) => event.preventDefault(); to.ondrop = (event) => { to.textContent = event.dataTransfer.getData('text/plain'); };`),
  '/scrolls': html('scrolls', '<div id=box style="width:200px;height:100px;overflow:auto"><div style="height:2000px">long</div></div><div style="height:4000px">page</div>'),
  '/outer': (url) => html('outer', `<p>outer</p><iframe id=same src="/inner" style="border:7px solid;padding:3px;margin:11px"></iframe><iframe id=other src="http://localhost:${url.port}/inner"></iframe>`),
  '/inner': html('inner', '<input id=field> <button id=hit onclick="hit.textContent = hit.textContent + \'!\'">hit</button>'),
};

let own;
before(async () => { own = await OwnFirefox.start({ pages: PAGES }); });
after(async () => { await own?.stop(); });

test('a click is what a person’s is: its events in order, and what follows from it', async () => {
  const context = await own.open('/clicks');
  const { x } = await own.middle(context, '#go');
  await own.click(context, '#go');
  assert.match(await own.evaluate(context, 'go.textContent'), /^1 0 false \d+$/);
  assert.equal(Number((await own.evaluate(context, 'go.textContent')).split(' ')[3]), x);
  assert.deepEqual(await own.evaluate(context, 'seen'), ['pointerdown:go', 'mousedown:go:1', 'focus:go', 'pointerup:go', 'mouseup:go:1', 'click:go:1']);

  await own.click(context, '#label');
  assert.equal(await own.evaluate(context, 'box.checked'), true);
  await own.click(context, '#box');
  assert.equal(await own.evaluate(context, 'box.checked'), false);
  await own.click(context, '#summary');
  assert.equal(await own.evaluate(context, 'document.querySelector("details").open'), true);
  await own.evaluate(context, 'seen.length = 0');
  await own.click(context, '#off');
  assert.ok(!(await own.evaluate(context, 'seen')).some((one) => one.startsWith('click')));
  await own.click(context, '#host');
  assert.equal(await own.evaluate(context, 'document.title'), '5');
  await own.click(context, '#link');
  await until('the link was followed', async () => await own.evaluate(context, 'document.title').catch(() => '') === 'two');
});

test('double clicks, other buttons and held keys are told', async () => {
  const context = await own.open('/clicks');
  await own.click(context, '#go', 2);
  assert.deepEqual((await own.evaluate(context, 'seen')).filter((one) => /click/.test(one)), ['click:go:1', 'click:go:2', 'dblclick:go:2']);
  await own.evaluate(context, 'seen.length = 0');
  await own.mouse(context, { type: 'pointerMove', ...await own.middle(context, '#label') }, { type: 'pointerDown', button: 2 }, { type: 'pointerUp', button: 2 });
  assert.deepEqual((await own.evaluate(context, 'seen')).filter((one) => /click|context/.test(one)), ['contextmenu:label:1', 'auxclick:label:1']);
  const { x, y } = await own.middle(context, '#go');
  await own.ask('input.performActions', { context, actions: [
    { type: 'key', id: 'keyboard', actions: [{ type: 'keyDown', value: CONTROL }, { type: 'pause' }, { type: 'pause' }, { type: 'pause' }, { type: 'keyUp', value: CONTROL }] },
    { type: 'pointer', id: 'mouse', actions: [{ type: 'pause' }, { type: 'pointerMove', x, y }, { type: 'pointerDown', button: 0 }, { type: 'pointerUp', button: 0 }, { type: 'pause' }] }] });
  assert.match(await own.evaluate(context, 'go.textContent'), /true/);
});

test('typing makes the events of typing, and text', async () => {
  const context = await own.open('/form');
  await own.click(context, '#name');
  await own.evaluate(context, 'seen.length = 0');
  await own.type(context, 'aé');
  assert.equal(await own.evaluate(context, 'document.querySelector("#name").value'), 'aé');
  assert.deepEqual(await own.evaluate(context, 'seen'), ['keydown:name', 'keypress:name', 'beforeinput:name', 'input:name', 'keyup:name', 'keydown:name', 'keypress:name', 'beforeinput:name', 'input:name', 'keyup:name']);
  await own.type(context, `${BACKSPACE}b`);
  assert.equal(await own.evaluate(context, 'document.querySelector("#name").value'), 'ab');
  // Tab selects what is there, so typing replaces it.
  await own.type(context, `${TAB}new`);
  assert.equal(await own.evaluate(context, 'second.value'), 'new');
  assert.ok((await own.evaluate(context, 'seen')).includes('change:name'), 'a field that is left tells of its change');
  await own.type(context, `${TAB}one${ENTER}two`);
  assert.equal(await own.evaluate(context, 'text.value'), 'one\ntwo');
  await own.ask('input.performActions', { context, actions: [{ type: 'key', id: 'keyboard', actions: [{ type: 'keyDown', value: CONTROL }, { type: 'keyDown', value: 'a' }, { type: 'keyUp', value: 'a' }, { type: 'keyUp', value: CONTROL }] }] });
  await own.type(context, 'x');
  assert.equal(await own.evaluate(context, 'text.value'), 'x');
  await own.click(context, '#edit');
  await own.type(context, 'c');
  assert.match(await own.evaluate(context, 'edit.textContent'), /c/);
});

test('keys choose, turn and spin, and Enter sends the form', async () => {
  const context = await own.open('/form');
  await own.evaluate(context, 'select.focus()');
  await own.type(context, '\ue015');
  assert.equal(await own.evaluate(context, 'select.value'), 'two');
  await own.type(context, 't');
  assert.equal(await own.evaluate(context, 'select.value'), 'three');
  await own.evaluate(context, 'r1.focus()');
  await own.type(context, '\ue014');
  assert.equal(await own.evaluate(context, 'r2.checked'), true);
  await own.evaluate(context, 'number.focus()');
  await own.type(context, '\ue013');
  assert.equal(await own.evaluate(context, 'number.value'), '4');
  await own.click(context, '#name');
  await own.type(context, `knot${ENTER}`);
  await until('the form was sent', () => own.site.requests.some((one) => one.startsWith('GET /two?name=knot&second=old&kind=three&r=2')));
});

test('what a click opens is a tab with its opener, though Firefox blocks popups that nobody asked for', async () => {
  const context = await own.open('/popups');
  for (const [selector, path] of [['#open', '/two?popup'], ['#blank', '/two?blank'], ['#noopener', '/two?noopener']]) {
    await own.click(context, selector);
    const { context: opened } = await own.event('browsingContext.load', ({ url }) => url === own.site.origin + path);
    const told = own.events('browsingContext.contextCreated').find((one) => one.context === opened);
    assert.equal(told.originalOpener, context);
    await own.ask('browsingContext.close', { context: opened });
  }
  assert.equal(await own.evaluate(context, 'open.toString().includes("[native code]") && window.child.closed'), false);
});

test('a drag and drop carries its data, and a drag without one moves the pointer', async () => {
  const context = await own.open('/drag');
  const from = await own.middle(context, '#from');
  const to = await own.middle(context, '#to');
  const way = [1, 2, 3, 4].map((step) => ({ type: 'pointerMove', x: Math.round(from.x + (to.x - from.x) * step / 4), y: Math.round(from.y + (to.y - from.y) * step / 4) }));
  await own.mouse(context, { type: 'pointerMove', ...from }, { type: 'pointerDown', button: 0 }, ...way, { type: 'pointerUp', button: 0 });
  assert.equal(await own.evaluate(context, 'to.textContent'), 'knot');
  const seen = await own.evaluate(context, 'seen');
  assert.equal(seen[0], 'dragstart:from');
  assert.deepEqual(seen.slice(-4), ['dragenter:to', 'dragover:to', 'drop:to', 'dragend:from']);
  const { x, y } = await own.middle(context, '#slider');
  await own.mouse(context, { type: 'pointerMove', x, y }, { type: 'pointerDown', button: 0 }, { type: 'pointerMove', x: x + 50, y }, { type: 'pointerUp', button: 0 });
  assert.equal(await own.evaluate(context, 'slider.textContent'), '1 3');
});

test('what is dragged over a frame of another origin is dropped there', async () => {
  const context = await own.open('/across');
  const from = await own.middle(context, '#from');
  const to = await own.middle(context, '#frame');
  await own.mouse(context, { type: 'pointerMove', ...from }, { type: 'pointerDown', button: 0 }, { type: 'pointerMove', x: from.x + 20, y: from.y }, { type: 'pointerMove', ...to }, { type: 'pointerUp', button: 0 });
  const { contexts: [{ children: [frame] }] } = await own.ask('browsingContext.getTree', { root: context });
  assert.equal(await own.evaluate(frame.context, 'to.textContent'), 'from outside');
  assert.deepEqual(await own.evaluate(context, 'seen'), ['dragend']);
});

test('the wheel scrolls what lies under it', async () => {
  const context = await own.open('/scrolls');
  const wheel = (x, y, deltaY) => own.ask('input.performActions', { context, actions: [{ type: 'wheel', id: 'wheel', actions: [{ type: 'scroll', x, y, deltaX: 0, deltaY }] }] });
  const { x, y } = await own.middle(context, '#box');
  await wheel(x, y, 120);
  assert.deepEqual(await own.evaluate(context, '[box.scrollTop, scrollY]'), [120, 0]);
  await wheel(x, y + 200, 300);
  assert.deepEqual(await own.evaluate(context, '[box.scrollTop, scrollY]'), [120, 300]);
});

test('what is done to the tab reaches the frames in it, of both origins', async () => {
  const context = await own.open('/outer');
  const { contexts: [{ children }] } = await own.ask('browsingContext.getTree', { root: context });
  for (const [selector, part] of [['#same', own.site.origin], ['#other', own.site.other]]) {
    const frame = children.find(({ url }) => url.startsWith(part)).context;
    const [left, top] = await own.evaluate(context, `(() => { const f = document.querySelector('${selector}'), r = f.getBoundingClientRect(), s = getComputedStyle(f); return [r.x + f.clientLeft + parseFloat(s.paddingLeft), r.y + f.clientTop + parseFloat(s.paddingTop)]; })()`, 'test');
    const press = async (inner) => {
      const { x, y } = await own.middle(frame, inner);
      await own.mouse(context, { type: 'pointerMove', x: Math.round(left + x), y: Math.round(top + y) }, { type: 'pointerDown', button: 0 }, { type: 'pointerUp', button: 0 });
    };
    await press('#hit');
    assert.equal(await own.evaluate(frame, 'hit.textContent'), 'hit!');
    await press('#field');
    await own.type(context, 'deep');
    assert.equal(await own.evaluate(frame, 'field.value'), 'deep');
    // And to the frame itself.
    await own.click(frame, '#hit');
    assert.equal(await own.evaluate(frame, 'hit.textContent'), 'hit!!');
  }
});

test('files are given by what is in them', async () => {
  const context = await own.open('/uploads');
  const element = await own.node(context, '#files');
  const data = (text) => Buffer.from(text).toString('base64');
  await own.ask('input.setFiles', { context, element, files: [{ name: 'a.txt', type: 'text/plain', data: data('one') }, { name: 'b.txt', type: '', data: data('two') }] });
  await until('the page has read them', async () => await own.evaluate(context, 'document.title') === 'a.txt=one;b.txt=two');
  await assert.rejects(own.ask('input.setFiles', { context, element, files: ['/etc/hostname'] }), { code: 'unsupported operation' });
});

test('what was held is released', async () => {
  const context = await own.open('/clicks');
  const { x, y } = await own.middle(context, '#go');
  await own.mouse(context, { type: 'pointerMove', x, y }, { type: 'pointerDown', button: 0 });
  assert.ok(!(await own.evaluate(context, 'seen')).includes('mouseup:go:1'));
  await own.ask('input.releaseActions', { context });
  assert.ok((await own.evaluate(context, 'seen')).includes('mouseup:go:1'));
});
