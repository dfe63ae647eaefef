// Ops on real pages: looking, finding, acting, waiting, and what is told when it cannot be done.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from './lib/test.mjs';
import { Agent } from './lib/agent.mjs';
import { opsThatCannot } from './lib/cannot.mjs';
import { fixture } from './lib/fixture.mjs';
import { html } from './lib/site.mjs';
import { until } from './lib/until.mjs';

const FORM = html('form', `
  <h1>Order</h1>
  <form id=f onsubmit="event.preventDefault(); document.title = 'sent ' + JSON.stringify(Object.fromEntries(new FormData(this)))">
    <label>Name <input name=name></label>
    <label for=mail>Mail</label><input id=mail name=mail type=email placeholder="you@example.com">
    <label><input type=checkbox name=news> News</label>
    <label><input type=radio name=size value=s> Small</label><label><input type=radio name=size value=l> Large</label>
    <label>Colour <select name=colour><option value=r>Red<option value=b>Blue</select></label>
    <label>Day <input type=date name=day></label>
    <textarea name=note aria-label=Note></textarea>
    <button>Send</button><button type=button disabled>Never</button>
  </form>
  <a href=/two>Next page</a> <a href=/two target=_blank>New tab</a>
  <div style="display:none"><button>Hidden</button></div>
  <div id=menu onclick="this.textContent = 'opened'" style="cursor:pointer">Menu</div>`);
const LATE = html('late', '<button id=b style="position:absolute;left:0">Late</button><div id=cover style="position:fixed;inset:0;z-index:9;background:#fff8"></div>',
  `let x = 0; const moving = setInterval(() => { b.style.left = (x += 7) + 'px'; }, 16);
   b.onclick = () => { document.title = 'clicked'; };
   setTimeout(() => { clearInterval(moving); cover.remove(); }, 700);`);
const SHADOW = html('shadow', '<div id=host></div>',
  `const root = host.attachShadow({ mode: 'open' }); root.innerHTML = '<button>Inside</button><slot></slot>';
   root.querySelector('button').onclick = () => { document.title = 'inside'; };`);
const LONG = html('long', `<article><h1>On knots</h1><p>${'A bowline holds. '.repeat(40)}</p></article><nav>Menu Menu</nav>
  <div style="height:3000px"></div><p id=end>The end</p><button onclick="document.title='down'">Deep</button>`);
const DRAG = html('drag', `<div id=a draggable=true style="width:80px;height:40px;background:#9cf">Piece</div>
  <div id=b style="margin-top:60px;width:120px;height:80px;background:#fc9">Box</div>`,
  `a.ondragstart = (e) => e.dataTransfer.setData('text', 'piece'); b.ondragover = (e) => e.preventDefault();
   b.ondrop = (e) => { document.title = 'dropped ' + e.dataTransfer.getData('text'); };`);

let agent;
const at = fixture({
  pages: { '/form': FORM, '/late': LATE, '/shadow': SHADOW, '/long': LONG, '/drag': DRAG,
    '/loop': html('loop', '<button id=l onclick="for (;;);">Loop</button>') },
  async open({ target }) { agent = await Agent.of(target); },
});

test('navigate opens a tab of the agent\'s own, and says where it is', async () => {
  const there = await agent.open(at.site.url('/form'));
  assert.deepEqual([there.url, there.title], [at.site.url('/form'), 'form']);
  assert.match(there.tab, /^t\d+$/);
  assert.equal((await agent.open(at.site.url('/two'))).tab, there.tab, 'it stays in its tab');
  assert.equal((await agent.op('back')).url, at.site.url('/form'));
  assert.equal((await agent.op('forward')).url, at.site.url('/two'));
  assert.equal((await agent.op('reload')).title, 'two');
  const nowhere = await agent.refused('forward');
  assert.equal(nowhere.code, 'navigation_failed');
  const refused = await agent.refused('navigate', { url: 'http://127.0.0.1:9/' });
  assert.deepEqual([refused.code, /CONNECTION_REFUSED|UNSAFE_PORT|deniedPortAccess/.test(refused.message)], ['navigation_failed', true]);
  assert.match((await agent.refused('navigate', { url: 'no address' })).message, /no address/);
});

test('a snapshot has roles, names, states and refs, and leaves out what is hidden', async () => {
  await agent.open(at.site.url('/form'));
  const text = await agent.snapshot();
  for (const line of [/- heading "Order" \[level=1\] \[ref=e\d+\]/, /- textbox "Name" \[ref=e\d+\]/, /- checkbox "News" \[ref=e\d+\]/,
    /- button "Send" \[ref=e\d+\]/, /- button "Never" .*\[disabled\]/, /- combobox "Colour"/, /Menu.*\[ref=e\d+\]|\[ref=e\d+\].*Menu/]) {
    assert.match(text, line);
  }
  assert.doesNotMatch(text, /Hidden/);
  const interactive = await agent.snapshot({ interactive: true });
  assert.ok(interactive.length < text.length && !interactive.includes('heading') && interactive.includes('textbox "Name"'));
  assert.ok((await agent.snapshot({ compact: true })).length <= text.length);
  const part = await agent.snapshot({ target: '#menu' });
  assert.ok(part.includes('Menu') && !part.includes('Order'));
  const cut = await agent.op('snapshot', { max_chars: 100 });
  assert.match(cut.snapshot, /\[cut: 100 of \d+ characters/);
  assert.equal(await agent.snapshot({ diff: true }), 'nothing has changed');
  await agent.value(`document.querySelector('h1').textContent = 'Changed'`);
  const changed = await agent.snapshot({ diff: true });
  assert.match(changed, /^\+ .*heading "Changed"/m);
  assert.ok(changed.length < text.length / 2);
});

test('a form is filled by refs, labels and locators of all kinds, with real input', async () => {
  await agent.open(at.site.url('/form'));
  await agent.op('type', { target: 'label=Name', text: 'Ada', slowly: true });
  await agent.op('fill', { ref: await agent.ref('textbox "Mail"'), value: 'ada@example.com' });
  await agent.op('check', { selector: 'role=checkbox[name="News"]' });
  await agent.op('check', { target: 'xpath=//input[@value="l"]' });
  const chosen = await agent.op('select_option', { target: 'role=combobox', values: ['Blue'] });
  assert.equal(chosen.selected[0].value, 'b');
  await agent.op('fill', { target: '[name=day]', value: '2026-01-31' });
  await agent.op('fill', { target: `@${await agent.ref('textbox "Note"')}`, value: 'two\nlines' });
  await agent.op('click', { target: 'text=Send' });
  const sent = JSON.parse((await agent.value('document.title')).replace('sent ', ''));
  assert.deepEqual(sent, { name: 'Ada', mail: 'ada@example.com', news: 'on', size: 'l', colour: 'b', day: '2026-01-31', note: 'two\nlines' });
  await agent.op('check', { target: 'label=News', checked: false });
  assert.deepEqual(await agent.op('is', { what: 'checked', target: 'label=News' }).then((fact) => fact.value), false);
  await agent.op('fill_form', { fields: [{ target: 'label=Name', value: 'Bob' }, { target: 'label=News', value: true }, { target: 'label=Colour', value: 'Red' }] });
  assert.deepEqual(await agent.value(`['name', 'news', 'colour'].map((n) => { const e = f.elements[n]; return e.type === 'checkbox' ? e.checked : e.value; })`), ['Bob', true, 'r']);
  await agent.op('press_key', { key: 'Enter', target: 'label=Name' });
  assert.match(await agent.value('document.title'), /^sent .*Bob/);
});

test('acting waits until the element rests and nothing lies above it', async () => {
  await agent.open(at.site.url('/late'));
  await agent.op('click', { target: 'text=Late' });
  assert.equal(await agent.value('document.title'), 'clicked');
});

test('what cannot be done says why, what is in the way, and what to do', async () => {
  await agent.open(at.site.url('/late'));
  await agent.value(`(() => { const c = document.createElement('div'); c.id = 'banner'; c.style = 'position:fixed;inset:0;z-index:99'; c.textContent = 'Cookies!'; document.body.append(c); })()`);
  const covered = await agent.refused('click', { target: '#b', timeout: 1_500 });
  assert.deepEqual([covered.code, covered.reason], ['not_actionable', 'covered']);
  assert.match(covered.message, /banner|Cookies/);
  await agent.open(at.site.url('/form'));
  assert.equal((await agent.refused('click', { target: 'text=Never', timeout: 500 })).reason, 'not_enabled');
  assert.equal((await agent.refused('click', { target: 'text=Nowhere', timeout: 1_000 })).code, 'not_found');
  const several = await agent.refused('click', { target: 'button' });
  assert.equal(several.code, 'ambiguous');
  assert.ok(several.candidates.length >= 2 && /^e\d+$/.test(several.candidates[0].ref));
  assert.equal((await agent.refused('click', { target: 'a[[' })).code, 'bad_locator');
  const missing = await agent.refused('click', {});
  assert.deepEqual([missing.status, missing.code, /target/.test(missing.message)], [400, 'bad_input', true]);
  assert.match((await agent.refused('click', { target: 'a', knot: 1 })).message, /knot/);
  const option = await agent.refused('select_option', { target: 'role=combobox', values: ['Green'] });
  assert.ok(JSON.stringify(option.available ?? option).includes('Blue'));
});

test('a stale ref never acts on another element, and shows what is like it', async () => {
  await agent.open(at.site.url('/form'));
  const send = await agent.ref('button "Send"');
  await agent.value(`(() => { const old = document.querySelector('form > button'); const b = old.cloneNode(true); b.textContent = 'Send now'; old.replaceWith(b); })()`);
  const stale = await agent.refused('click', { target: send });
  assert.equal(stale.code, 'stale_ref');
  assert.match(stale.message, /button "Send"/);
  assert.ok(stale.candidates.some((candidate) => candidate.name === 'Send now'));
  await agent.open(at.site.url('/form'));
  assert.equal((await agent.refused('click', { target: send })).code, 'stale_ref', 'another document');
  const again = await agent.ref('button "Send"');
  assert.notEqual(again, send, 'numbers are never given twice');
});

test('clicks tell what they changed: address, tabs, dialogs, downloads', async () => {
  await agent.open(at.site.url('/form'));
  assert.equal((await agent.op('click', { target: 'text=Next page' })).changes.url, at.site.url('/two'));
  await agent.op('back');
  const opened = await agent.op('click', { target: 'text=New tab' });
  assert.equal(opened.changes.new_tabs.length, 1);
  await agent.op('tabs', { action: 'close', tab: opened.changes.new_tabs[0].tab });
  await agent.open(at.site.url('/dialogs'));
  const asked = await agent.op('click', { target: '#go' });
  assert.deepEqual([asked.changes.dialog.kind, asked.changes.dialog.message], ['alert', 'one']);
  assert.equal((await agent.refused('snapshot')).code, 'dialog_open');
  await agent.op('dialog', { accept: true });
  await agent.op('dialog', { accept: true });
  await agent.op('dialog', { accept: true, text: 'typed' });
  assert.deepEqual(await agent.value('window.answers'), [null, true, 'typed']);
  assert.equal((await agent.refused('dialog', { accept: true })).code, 'no_dialog');
  await agent.open(at.site.url('/downloads'));
  assert.deepEqual((await agent.op('click', { target: '#get' })).changes.downloads, ['knots.bin']);
});

test('clicks tell what they changed: errors', async () => {
  await agent.open(at.site.url('/'));
  await agent.value(`document.querySelector('h1').onclick = () => { throw new Error('knotted'); }`);
  const threw = await agent.op('click', { target: 'h1' });
  assert.match(JSON.stringify(threw.changes.console_errors), /knotted/);
});

test('frames of the same and of another site, and shadow DOM, are seen and acted in', async () => {
  await agent.open(at.site.url('/frames'));
  const text = await until('both frames are in the snapshot', async () => {
    const text = await agent.snapshot();
    return /f\d+e\d+/.test(text) && text.split('button "hit"').length === 3 && text;
  });
  const refs = [...text.matchAll(/button "hit" \[ref=(f\d+e\d+)\]/g)].map(([, ref]) => ref);
  assert.equal(refs.length, 2);
  for (const ref of refs) await agent.op('click', { target: ref });
  const titles = await Promise.all(refs.map(async (ref) => (await agent.op('evaluate', { target: ref, expression: 'el => el.ownerDocument.title' })).value));
  assert.deepEqual(titles, ['hit 1', 'hit 1']);
  await agent.open(at.site.url('/shadow'));
  await agent.op('click', { target: await agent.ref('button "Inside"') });
  assert.equal(await agent.value('document.title'), 'inside');
  await agent.op('click', { target: 'css=button' }).catch(() => agent.op('click', { target: 'button' }));
});

test('hover, drag, scroll, keys', async () => {
  await agent.open(at.site.url('/form'));
  await agent.value(`menu.onmouseenter = () => { document.title = 'over'; }`);
  await agent.op('hover', { target: '#menu' });
  assert.equal(await agent.value('document.title'), 'over');
  await agent.op('click', { target: '#menu' });
  assert.equal(await agent.value('menu.textContent'), 'opened');
  await agent.op('click', { target: 'label=Name', double: true });
  await agent.op('type', { text: 'Grace H' });
  await agent.op('press_key', { key: 'Control+A' });
  await agent.op('press_key', { key: 'Delete' });
  assert.equal(await agent.value('f.elements.name.value'), '');
  assert.match((await agent.refused('press_key', { key: 'Hyper+Q' })).message, /Hyper/);
  await agent.open(at.site.url('/drag'));
  await agent.op('drag', { from: '#a', to: '#b' });
  assert.equal(await agent.value('document.title'), 'dropped piece');
  await agent.open(at.site.url('/long'));
  assert.ok((await agent.op('scroll', { to: 'bottom' })).y > 1_000);
  assert.equal((await agent.op('scroll', { to: 'top' })).y, 0);
  await agent.op('click', { target: 'text=Deep' });
  assert.equal(await agent.value('document.title'), 'down', 'it is scrolled to');
});

test('text reads the article, html and forms tell the rest', async () => {
  await agent.open(at.site.url('/long'));
  const { text } = await agent.op('text');
  assert.ok(text.startsWith('# On knots') && !text.includes('Menu Menu'));
  assert.match((await agent.op('text', { readable: false })).text, /Menu Menu/);
  assert.match((await agent.op('html', { target: '#end' })).html, /^<p id="end">The end<\/p>$/);
  assert.equal((await agent.op('get', { what: 'attr', target: '#end', name: 'id' })).value, 'end');
  assert.equal((await agent.op('get', { what: 'title' })).value, 'long');
  assert.equal((await agent.op('get', { what: 'text', target: '#end' })).value, 'The end');
  assert.equal((await agent.op('get', { what: 'count', target: 'p' })).value, 2);
  assert.equal((await agent.op('is', { what: 'visible', target: '#none' })).value, false);
  await agent.open(at.site.url('/form'));
  const { forms } = await agent.op('forms');
  assert.ok(forms[0].fields.some((field) => field.label === 'Name'));
  const { matches } = await agent.op('find', { target: 'role=button' });
  assert.deepEqual(matches.map((match) => [match.name, match.visible]), [['Send', true], ['Never', true], ['Hidden', false]]);
  assert.ok((await agent.op('inspect', { what: 'elements' })).elements.length > 5);
});

test('wait_for: text, gone, element, address, load, a condition, time', async () => {
  await agent.open(at.site.url('/'));
  await agent.value(`setTimeout(() => { document.body.insertAdjacentHTML('beforeend', '<p id=late>Arrived</p>'); }, 300)`);
  const waited = (input) => agent.op('wait_for', { timeout: 20_000, ...input });
  await waited({ text: 'arrived' });
  await waited({ target: '#late' });
  await agent.value(`setTimeout(() => document.querySelector('#late').remove(), 200)`);
  await waited({ gone: 'Arrived' });
  await waited({ expression: '!document.querySelector("#late")' });
  await agent.value(`setTimeout(() => { location.href = '/two?there'; }, 100)`);
  await waited({ url: '*/two?there', load: 'load' });
  assert.ok((await agent.op('wait_for', { time: 0.2 })).waited_ms >= 200);
  assert.equal((await agent.refused('wait_for', { text: 'never', timeout: 300 })).code, 'timeout');
  assert.equal((await agent.refused('wait_for', {})).code, 'bad_input');
});

test('wait_for: quiet', async () => {
  await agent.open(at.site.url('/two'));
  await agent.value(`fetch('/api').then((r) => r.text())`);
  await agent.op('wait_for', { load: 'networkidle', timeout: 20_000 });
});

test('evaluate: expressions, functions, statements, elements, exceptions', async () => {
  await agent.open(at.site.url('/form'));
  assert.equal(await agent.value('1 + 1'), 2);
  assert.deepEqual(await agent.value('({a: [1, null]})'), { a: [1, null] });
  assert.equal(await agent.value('async () => (await Promise.resolve(5)) * 2'), 10);
  assert.equal(await agent.value('const x = 3; return x * 2'), 6);
  assert.equal((await agent.op('evaluate', { target: 'text=Send', expression: 'el => el.tagName' })).value, 'BUTTON');
  const threw = await agent.refused('evaluate', { expression: 'nothingThere.at' });
  assert.deepEqual([threw.code, /nothingThere/.test(threw.message)], ['page_threw', true]);
});

test('screenshots: view, page, element, formats, sizes, annotated, to a file', async () => {
  await agent.open(at.site.url('/long'));
  const png = (data) => [data.subarray(1, 4).toString(), data.readUInt32BE(16), data.readUInt32BE(20)];
  const shot = async (input) => {
    const answer = await agent.op('screenshot', input);
    return { ...answer, bytes: Buffer.from(answer.media[0].data, 'base64'), mime: answer.media[0].mime };
  };
  const view = await shot({});
  assert.deepEqual(png(view.bytes), ['PNG', view.width, view.height]);
  const full = await shot({ full: true });
  assert.ok(full.height > 3_000 && png(full.bytes)[2] === full.height);
  const small = await shot({ full: true, max_height: 500 });
  assert.ok(Math.abs(png(small.bytes)[2] - 500) <= 1);
  const element = await shot({ target: '#end' });
  assert.ok(element.height < 60);
  assert.equal((await shot({ format: 'jpeg', quality: 50 })).bytes.readUInt16BE(0), 0xffd8);
  assert.equal((await shot({ format: 'webp' })).bytes.subarray(8, 12).toString(), 'WEBP');
  await agent.open(at.site.url('/form'));
  const marked = await shot({ annotate: true });
  assert.ok(marked.boxes.length > 5 && marked.boxes.every((box) => /^e\d+$/.test(box.label)));
  assert.equal(await agent.value('document.documentElement.outerHTML.includes("e1</")'), false, 'nothing stays in the page');
  const file = join(at.target.home.tmp, 'shot.jpg');
  assert.equal((await agent.op('screenshot', { file })).file, file);
  assert.equal((await readFile(file)).readUInt16BE(0), 0xffd8);
});

test('a page as PDF', async () => {
  await agent.open(at.site.url('/form'));
  const pdf = join(at.target.home.tmp, 'page.pdf');
  await agent.op('pdf', { file: pdf });
  assert.equal((await readFile(pdf)).subarray(0, 5).toString(), '%PDF-');
});

test('uploads, storage, cookies, state, fetch', async () => {
  await agent.open(at.site.url('/uploads'));
  const path = join(at.target.home.tmp, 'up.txt');
  await writeFile(path, 'knot');
  await agent.op('upload', { target: '#files', files: [path] });
  await until('the page has read it', async () => await agent.value('document.title') === 'up.txt=knot');
  assert.equal((await agent.refused('upload', { target: '#files', files: ['/no/such/file'] })).code, 'file_error');
  await agent.op('storage', { set: { knot: 'bowline' } });
  assert.deepEqual((await agent.op('storage', { get: 'knot' })).items, { knot: 'bowline' });
  await agent.op('cookies', { action: 'set', name: 'a', value: '1', http_only: true });
  const { cookies } = await agent.op('cookies');
  assert.ok(cookies.some((cookie) => cookie.name === 'a' && cookie.httpOnly));
  const file = join(at.target.home.tmp, 'state.json');
  await agent.op('save_state', { file });
  await agent.op('cookies', { action: 'clear' });
  await agent.op('storage', { clear: true });
  assert.deepEqual([(await agent.op('cookies')).cookies.length, (await agent.op('storage')).count], [0, 0]);
  await agent.op('load_state', { file });
  assert.deepEqual((await agent.op('storage')).items, { knot: 'bowline' });
  assert.ok((await agent.op('cookies')).cookies.some((cookie) => cookie.name === 'a'));
  const fetched = await agent.op('fetch', { url: '/echo', method: 'PUT', headers: { 'x-knot': 'tied' }, body: { a: 1 } });
  const echoed = JSON.parse(fetched.body);
  assert.deepEqual([echoed.method, echoed.headers['x-knot'], echoed.headers.cookie], ['PUT', 'tied', 'a=1']);
});

test('console and network come from the recorder, with what was before', async () => {
  await agent.open(at.site.url('/console'));
  await until('the lines are recorded', async () => (await agent.op('console', { level: 'error' })).messages.some((m) => m.text === 'broken'));
  const { messages } = await agent.op('console', { grep: 'hello|careful' });
  assert.deepEqual(messages.slice(-2).map((message) => message.text), ['hello 42', 'careful']);
  await agent.value(`fetch('/api').then((r) => r.text())`);
  const request = await until('the request is recorded', async () =>
    (await agent.op('network', { url: '/api$' })).requests.find((r) => r.loadingFinished));
  assert.equal(request.status, 200);
  assert.match(JSON.stringify(await agent.op('body', { request: request.seq })), /server/);
  assert.ok((await agent.op('har')).har.log.entries.length > 0);
});

test('emulation holds for the agent, and is undone', async () => {
  await agent.open(at.site.url('/'));
  await agent.op('emulate', { device: 'iPhone 15', timezone: 'Asia/Tokyo', locale: 'de-DE' });
  await agent.op('reload');
  assert.deepEqual(await agent.value(`[innerWidth > 300, navigator.userAgent.includes('iPhone'),
    Intl.DateTimeFormat().resolvedOptions().timeZone, (1.5).toLocaleString()]`), [true, true, 'Asia/Tokyo', '1,5']);
  await agent.op('emulate', { reset: true });
  await agent.op('resize', { width: 700, height: 500 });
  await agent.op('reload');
  assert.deepEqual(await agent.value(`[innerWidth, innerHeight, navigator.userAgent.includes('iPhone')]`), [700, 500, false]);
  await agent.op('emulate', { network: 'offline' });
  assert.equal((await agent.refused('navigate', { url: at.site.url('/two') })).code, 'navigation_failed');
  await agent.op('emulate', { reset: true });
  await agent.open(at.site.url('/two'));
  assert.match((await agent.refused('emulate', { device: 'Abacus' })).hint, /Pixel/);
});

test('a colour scheme is pretended', async () => {
  await agent.open(at.site.url('/'));
  const isDark = () => agent.value(`matchMedia('(prefers-color-scheme: dark)').matches`);
  await agent.op('emulate', { color_scheme: 'dark' });
  assert.equal(await isDark(), true);
  await agent.op('emulate', { color_scheme: 'light' });
  assert.equal(await isDark(), false);
  await agent.op('emulate', { reset: true });
});

test('two agents: each its tab; acting in another\'s is refused, reading is not, taking over works', async () => {
  const [one, two] = [agent.as('one'), agent.as('two')];
  const { tab } = await one.open(at.site.url('/form'));
  const theirs = await two.open(at.site.url('/two'));
  assert.notEqual(theirs.tab, tab);
  assert.equal((await one.op('get', { what: 'url' })).value, at.site.url('/form'));
  const locked = await two.refused('click', { target: 'text=Send' }, tab);
  assert.deepEqual([locked.status, locked.code, locked.owner], [409, 'tab_locked', 'one']);
  assert.match((await two.op('snapshot', {}, tab)).snapshot, /Order/);
  await two.op('tabs', { action: 'take', tab });
  await two.op('click', { target: 'text=Send' }, tab);
  assert.equal((await one.refused('click', { target: 'text=Send' })).code, 'tab_locked');
  await two.op('tabs', { action: 'release', tab });
  await one.op('click', { target: 'text=Send' });
  const labelled = await one.op('tabs', { action: 'new', url: at.site.url('/three'), label: 'side' });
  assert.ok(labelled.tabs.some((shown) => shown.label === 'side' && shown.current));
  await one.op('tabs', { action: 'select', tab });
  assert.equal((await one.op('get', { what: 'title' }, 'side')).value, 'three');
  await one.op('tabs', { action: 'close', tab: 'side' });
});

test('an endless script in one tab keeps nobody waiting but its own', async () => {
  const [stuck, free] = [agent.as('stuck'), agent.as('free')];
  const { tab } = await stuck.open(at.site.url('/loop'));
  await free.open(at.site.url('/form'));
  const clicked = stuck.ask('click', { target: '#l', timeout: 3_000 });
  await until('the page hangs', async () => (await free.refused('snapshot', { timeout: 300 }, tab)).code === 'timeout');
  const begun = performance.now();
  await free.snapshot();
  await free.op('tabs');
  await free.op('status');
  assert.ok(performance.now() - begun < 2_000, `${performance.now() - begun} ms`);
  assert.equal((await stuck.refused('snapshot', { timeout: 500 })).code, 'timeout');
  await clicked;
  await stuck.op('tabs', { action: 'close', tab });
});

test('a dialog waits for the agent whose tab it is, longer than for nobody', async () => {
  await agent.open(at.site.url('/dialogs'));
  await agent.op('click', { target: '#go' });
  await delay(5_500);
  await agent.op('dialog', { accept: true });
  await agent.op('dialog', { accept: false });
  await agent.op('dialog', { accept: true, text: 'still here' });
  assert.deepEqual(await agent.value('window.answers'), [null, false, 'still here']);
});

test('the mouse at a point, an element that a person picks, a highlight', async () => {
  await agent.open(at.site.url('/form'));
  const { value: box } = await agent.op('get', { what: 'box', target: '#menu' });
  const [x, y] = [box.x + 5, box.y + 5];
  const picked = agent.op('pick', { message: 'Which one?' });
  // Its cover takes the first click that comes after it is there.
  const ref = await until('the person has picked', async () => {
    await agent.op('mouse', { action: 'click', x, y });
    return Promise.race([picked, delay(200, undefined)]);
  });
  assert.match(ref.ref, /^e\d+$/);
  assert.equal(ref.selector, '#menu');
  await agent.op('highlight', { target: ref.ref, ms: 100 });
  assert.ok((await agent.op('list_browsers')).browsers.length > 0);
});

test('a trace is recorded', async () => {
  await agent.open(at.site.url('/form'));
  await agent.op('trace', { action: 'start' });
  await agent.op('reload');
  const { file } = await agent.op('trace', { action: 'stop', file: join(at.target.home.tmp, 'trace.json') });
  assert.ok(JSON.parse(await readFile(file, 'utf8')).traceEvents.length > 0);
});

test('back within a document, and what a link leads out of', async () => {
  await agent.open(at.site.url('/two'));
  await agent.value(`history.pushState({}, '', '/two?deeper')`);
  assert.equal((await agent.op('back')).url, at.site.url('/two'));
  const refused = await agent.refused('fetch', { url: 'http://' });
  assert.equal(refused.code, 'bad_input');
});

test('browsers are launched, and ended only by who may', async () => {
  const [one, two] = [agent.as('one'), agent.as('two')];
  const launched = await one.op('launch_browser', { name: 'second', headless: true });
  assert.deepEqual([launched.name, launched.state], ['second', 'running']);
  await two.op('navigate', { url: at.site.url('/two'), browser: 'second' });
  const refused = await one.refused('restart_browser', { name: 'second' });
  assert.deepEqual([refused.code, /`second` is used by two/.test(refused.message)], ['not_owner', true]);
  await one.op('restart_browser', { name: 'second', force: true });
  assert.equal((await two.op('stop_browser', { name: 'second' })).state, 'stopped');
});

test('every op has been asked for here or in a file of its own', async () => {
  const elsewhere = ['execute', 'reset', ...opsThatCannot()];
  const known = await agent.rest.get('/ops');
  const ops = Array.isArray(known) ? known : known.ops;
  const asked = new Set([...agent.rest.asked].map((path) => path.split('/ops/')[1]));
  assert.deepEqual(ops.map((op) => op.name).filter((name) => !asked.has(name) && !elsewhere.includes(name)), []);
});
