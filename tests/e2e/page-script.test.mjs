// The script that the hub runs in the frames of a page, in a real browser and in a world of its own.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import puppeteer from 'puppeteer-core';
import { CHROMIUM, QUIET_FLAGS } from './lib/env.mjs';
import { FILES, PageScript } from './lib/page-script.mjs';
import { Site, html } from './lib/site.mjs';
import { test } from './lib/test.mjs';

let browser;
let site;
let page;
let body = '';

before(async () => {
  site = await Site.start({ '/case': () => html('case', body) });
  browser = await puppeteer.launch({
    executablePath: CHROMIUM, args: [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), ...QUIET_FLAGS],
  });
  page = await browser.newPage();
  await page.setViewport({ width: 1000, height: 700 });
});

after(async () => {
  await browser?.close();
  await site?.stop();
});

/** A page with this body, and the script in it. */
async function open(content) {
  body = content;
  await page.goto(site.url('/case'));
  return PageScript.in(page);
}

const lines = async (script, options) => (await script.call('snapshot', options)).lines.join('\n');
const names = async (script, locator) => {
  const { matches, error, message } = await script.call('find', { locator, all: true });
  return error ? `${error}: ${message}` : matches.map(({ name, text, tag }) => name || text || tag);
};

test('every name of the common scope is declared once and used', () => {
  const all = FILES.map(({ text }) => text).join('\n');
  const declared = [...all.matchAll(/^(?:async )?(?:function|const|let|class) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(declared.filter((name, i) => declared.indexOf(name) !== i), []);
  const unused = declared.filter((name) => name !== 'api' && [...all.matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length < 2);
  assert.deepEqual(unused, []);
});

test('a snapshot says what is on the page, in the form agents know', async () => {
  const script = await open(`
    <h1>Hello <b>World</b></h1>
    <nav aria-label=Main><ul><li><a href=/home>Home</a><li><a href=/x>X: y <img alt=pic></a></ul></nav>
    <div><div>plain <span>inline</span> text</div><div>true</div></div>
    <div style="cursor:pointer">Click <span>me</span></div>
    <form><label>Name <input name=n value=Ann placeholder=hint></label><input type=password aria-label=Secret value=x>
    <label><input type=checkbox checked>Agree</label><select aria-label=Land><option>A<option selected>B</select>
    <button disabled>Go</button></form>
    <table><caption>Tab</caption><tr><th>K<th>V<tr><td>a<td><a href=#>b</a></table>
    <details><summary>More</summary>folded</details>
    <div hidden>no</div><div aria-hidden=true>no</div><div inert>no</div><div style="visibility:hidden">no <b style="visibility:visible">yes</b></div>
    <button aria-expanded=true aria-pressed=true><svg><title>Icon</title></svg></button>
    <iframe name=inner srcdoc=x></iframe><div contenteditable>edit <b>me</b></div>`);
  await page.focus('[name=n]');
  const { lines: got, iframes, next, count } = await script.call('snapshot', {});
  assert.equal(got.join('\n'), `
- heading "Hello World" [level=1] [ref=e1]
- navigation "Main" [ref=e2]:
  - list [ref=e3]:
    - listitem [ref=e4]:
      - link "Home" [ref=e5] [cursor=pointer]:
        - /url: /home
    - listitem [ref=e6]:
      - 'link "X: y pic" [ref=e7] [cursor=pointer]':
        - /url: /x
- text: plain inline text
- text: "true"
- generic [ref=e8] [cursor=pointer]: Click me
- textbox "Name" [active] [ref=e9]: Ann
- textbox "Secret" [ref=e10]: •••••
- checkbox "Agree" [checked] [ref=e11]
- combobox "Land" [ref=e12]:
  - option "A" [ref=e13]
  - option "B" [selected] [ref=e14]
- button "Go" [disabled] [ref=e15]
- table "Tab" [ref=e16]:
  - rowgroup [ref=e17]:
    - row [ref=e18]:
      - columnheader "K" [ref=e19]
      - columnheader "V" [ref=e20]
    - row [ref=e21]:
      - cell "a" [ref=e22]
      - cell [ref=e23]:
        - link "b" [ref=e24] [cursor=pointer]:
          - /url: "#"
- group [ref=e25]:
  - button "More" [ref=e26]
- text: "yes"
- button "Icon" [expanded] [pressed] [ref=e27]
- iframe "inner" [ref=e28]:
- textbox [ref=e29]: edit me`.trim());
  assert.deepEqual(iframes, [{ ref: 28, line: got.findIndex((line) => line.includes('iframe')) }]);
  assert.equal(next, 30);
  assert.equal(count, 29);
});

test('short snapshots: interactive, compact, depth, root, prefix and boxes', async () => {
  const script = await open('<main><h2>T</h2><ul><li><button>One</button><li>two <a href=/u>u</a></ul><p></p></main>');
  assert.equal(await lines(script, { interactive: true, prefix: 'f2', next: 40 }), '- button "One" [ref=f2e40]\n- link "u" [ref=f2e41] [cursor=pointer]');
  assert.equal(await lines(script, { compact: true }), `
- heading "T" [level=2] [ref=e42]
- button "One" [ref=e40]
- listitem [ref=e43]:
  - text: two
  - link "u" [ref=e41] [cursor=pointer]`.trim());
  assert.equal(await lines(script, { depth: 1 }), '- main [ref=e44]');
  const list = await script.ref('ul');
  assert.match(await lines(script, { root: list, boxes: true }), /^- list \[ref=e\d+\] \[box=\d+,\d+,\d+,\d+\]:\n {2}- listitem/);
  assert.equal((await script.call('snapshot', { root: 9999 })).error, 'stale');
});

test('a snapshot goes through shadow roots and slots', async () => {
  const script = await open(`<my-card><span slot=title>Slotted</span><i>not shown</i></my-card>
    <script>customElements.define('my-card', class extends HTMLElement { constructor() { super();
      this.attachShadow({mode: 'open'}).innerHTML = '<h3><slot name=title></slot></h3><button>Inner</button>'; } });</script>`);
  assert.equal(await lines(script), '- heading "Slotted" [level=3] [ref=e1]\n- button "Inner" [ref=e2]');
  assert.deepEqual(await names(script, 'my-card button'), ['Inner']);
  assert.deepEqual(await names(script, 'text=inner'), ['Inner']);
  await page.evaluate(() => document.querySelector('my-card').shadowRoot.querySelector('button').setAttribute('aria-label', 'Said'));
  assert.equal(await lines(script, { root: 2 }), '- button "Said" [ref=e2]: Inner');
  await page.evaluate(() => document.querySelector('my-card').shadowRoot.querySelector('button').removeAttribute('aria-label'));
  const { selector } = await script.call('describe', { ref: 2 });
  assert.equal(selector, 'my-card >> button');
  assert.deepEqual(await names(script, selector), ['Inner']);
});

test('a page cannot mislead the script with names of its own', async () => {
  const script = await open(`<form id=f><input name=nodeName><input name=nodeType><input name=childNodes><input name=firstChild><input name=getAttribute>
    <input name=shadowRoot><input name=localName><input name=parentNode><input name=isConnected><input name=textContent><input name=matches>
    <input name=closest><input name=attributes><input name=getBoundingClientRect><input name=assignedSlot><button>Save</button></form>
    <img name=body><img name=querySelectorAll><img name=activeElement><img name=documentElement><img name=elementFromPoint><img name=getElementById>
    <script>Array.prototype.map = String.prototype.trim = () => { throw new Error('page code'); };</script>`);
  assert.match(await lines(script), /- button "Save"/);
  assert.deepEqual(await names(script, '#f >> role=button'), ['Save']);
  const form = await script.ref('#f');
  assert.equal((await script.call('describe', { ref: form })).tag, 'form');
  const button = await script.ref('role=button');
  assert.equal((await script.call('ready', { ref: button })).ok, true);
  for (const name of ['forms', 'structure', 'elements', 'info', 'text', 'html', 'annotate', 'unannotate', 'scroll']) {
    assert.equal((await script.call(name)).error, undefined, name);
  }
});

test('refs are never given twice and end with their element', async () => {
  const script = await open('<button id=a>A</button><button id=b>B</button>');
  const { matches: [a], next } = await script.call('find', { locator: '#a', next: 7 });
  assert.deepEqual([a.ref, next], [7, 8]);
  await page.evaluate(() => document.querySelector('#a').remove());
  assert.equal((await script.call('describe', { ref: 7 })).error, 'stale');
  assert.equal((await script.call('ready', { ref: 7 })).error, 'stale');
  assert.equal((await script.call('find', { locator: '#b', next: 3 })).matches[0].ref, 8);
  const { matches } = await script.call('similar', { role: 'button', name: 'B now' });
  assert.equal(matches[0].ref, 8);
});

test('locators', async () => {
  const script = await open(`
    <button>Save</button><button>Save all</button><button style="display:none">Save hidden</button><input type=submit value="Save it">
    <div id=box><p>Sign <b>in</b> now</p><p>sign out</p></div>
    <label for=mail>E-mail address</label><input id=mail placeholder="you@x.org"><input aria-label="Phone" placeholder="E-mail or phone">
    <input placeholder="Search…"><img alt="A cat" src="data:,"><span title=Tip>tip</span><i data-testid=one>t</i>
    <h2>Two</h2><h3>Three</h3><input type=checkbox aria-label=C checked><p>Don't >> stop</p>`);
  assert.deepEqual(await names(script, 'role=button[name="save"]'), ['Save', 'Save all', 'Save it', 'Save hidden']);
  assert.deepEqual(await names(script, 'role=button[name="Save"][exact]'), ['Save']);
  assert.deepEqual(await names(script, 'role=button[name=/^save .t$/i]'), ['Save it']);
  assert.deepEqual(await names(script, 'role=heading[level=3]'), ['Three']);
  assert.deepEqual(await names(script, 'role=checkbox[checked]'), ['C']);
  assert.deepEqual(await names(script, 'text=sign in'), ['Sign in now']);
  assert.deepEqual(await names(script, 'text="Save"'), ['Save']);
  assert.deepEqual(await names(script, 'text=save it'), ['Save it']);
  assert.deepEqual(await names(script, 'text=/^sign OUT$/i'), ['sign out']);
  assert.deepEqual(await names(script, '#box >> p >> nth=-1'), ['sign out']);
  assert.deepEqual(await names(script, 'button:has-text("all")'), ['Save all']);
  assert.deepEqual(await names(script, '//div[@id="box"]/p[2]'), ['sign out']);
  assert.deepEqual(await names(script, '#box >> xpath=//b'), ['in']);
  assert.deepEqual(await names(script, 'label=e-mail'), ['E-mail address']);
  assert.deepEqual(await names(script, 'label=search'), ['Search…']);
  assert.deepEqual(await names(script, 'label=Phone'), ['Phone']);
  assert.deepEqual(await names(script, 'placeholder=search'), ['Search…']);
  assert.deepEqual(await names(script, 'alt=cat'), ['A cat']);
  assert.deepEqual(await names(script, 'title=tip'), ['Tip']);
  assert.deepEqual(await names(script, 'testid=one'), ['t']);
  assert.deepEqual(await names(script, 'text="Don\'t >> stop"'), ['Don\'t >> stop']);
  assert.deepEqual(await names(script, '.none'), []);
  assert.match(await names(script, 'Sign in!'), /bad_locator: .*text=/);
  assert.match(await names(script, 'a[href=]'), /bad_locator/);
  assert.match(await names(script, 'role=button[nam="x"]'), /bad_locator: .*name/);
  assert.match(await names(script, 'xpath=//['), /bad_locator/);
  const { matches, total } = await script.call('find', { locator: 'button', max: 2 });
  assert.deepEqual([matches.length, total, matches[0].visible], [2, 3, true]);
});

test('accessible names and roles', async () => {
  const script = await open(`
    <span id=l1>Billing</span><span id=l2 hidden>secret</span>
    <input id=a aria-labelledby="l1 l2"><input id=b title=T><label>Pre <select id=c><option>x</select> post</label>
    <a id=d href=#><img alt=Logo> Shop</a><button id=e><i aria-hidden=true>x</i>Close</button><fieldset id=f><legend>Leg</legend></fieldset>
    <div id=g role=button>Div <p>block</p></div><section id=h aria-label=Sec></section><section id=i></section>
    <header id=j></header><article><header id=k></header></article><img id=m alt=""><input id=n type=image alt=Go><ul id=o role=none></ul>
    <style>#p::before { content: 'Drawn' }</style><button id=p></button>`);
  const of = async (id) => {
    const { role, name } = await script.call('describe', { ref: await script.ref(`#${id}`) });
    return `${role} ${name}`.trim();
  };
  const expected = {
    a: 'textbox Billing secret', b: 'textbox T', c: 'combobox Pre post', d: 'link Logo Shop', e: 'button Close', f: 'group Leg',
    g: 'button Div block', h: 'region Sec', i: 'generic', j: 'banner', k: 'generic', m: 'presentation', n: 'button Go', o: 'presentation',
    p: 'button Drawn',
  };
  for (const [id, want] of Object.entries(expected)) assert.equal(await of(id), want, id);
});

test('ready says at which point a click arrives, or why none would', async () => {
  const script = await open(`<style>body { margin: 0 }</style>
    <button id=near>near</button><button id=off disabled>off</button><button id=unseen style="visibility:hidden">x</button>
    <button id=under>under</button><button id=moving style="position:relative">moving</button>
    <input id=ro readonly><input id=text><div style="width:90px">some <a id=link href=#>a link of more lines</a></div>
    <label id=sw>Switch<input id=hiddenbox type=checkbox style="display:none"></label>
    <div style="height:3000px"></div><button id=far>far</button>
    <div id=cover style="position:fixed">banner</div>
    <script>{ const r = under.getBoundingClientRect(); Object.assign(cover.style, {left: r.left - 5 + 'px', top: r.top - 5 + 'px', width: r.width + 10 + 'px', height: r.height + 10 + 'px'}); }
    let n = 0; (function step() { moving.style.left = ++n + 'px'; requestAnimationFrame(step); })();</script>`);
  const ready = async (id, more) => script.call('ready', { ref: await script.ref(`#${id}`), ...more });
  const near = await ready('near');
  assert.equal(near.ok, true);
  assert.equal(await page.evaluate(({ x, y }) => document.elementFromPoint(x, y).id, near), 'near');
  assert.equal((await ready('off')).reason, 'not_enabled');
  assert.equal((await ready('off', { action: 'hover' })).ok, true);
  assert.equal((await ready('unseen')).reason, 'not_visible');
  assert.equal((await ready('moving')).reason, 'not_stable');
  assert.equal((await ready('ro', { action: 'fill' })).reason, 'not_editable');
  assert.equal((await ready('near', { action: 'fill' })).reason, 'not_editable');
  assert.equal((await ready('text', { action: 'fill' })).ok, true);
  const link = await ready('link');
  assert.equal(await page.evaluate(({ x, y }) => document.elementFromPoint(x, y).id, link), 'link');
  const covered = await ready('under');
  assert.equal(covered.reason, 'covered');
  assert.match(covered.by, /id="cover".*banner/);
  assert.equal((await script.call('describe', { ref: covered.byRef })).attributes.id, 'cover');
  const label = await ready('hiddenbox');
  assert.deepEqual([label.ok, label.via, label.tag], [true, 'label', 'label']);
  const far = await ready('far');
  assert.ok(far.ok && far.y < 700 && await page.evaluate(() => scrollY) > 1000);
  const ref = await script.ref('#far');
  assert.deepEqual(await script.call('hits', { ref, x: far.x, y: far.y }), { hits: true });
  assert.equal((await script.call('hits', { ref, x: 1, y: 1 })).hits, false);
});

test('ready finds a way past sticky headers, clipped boxes, moved boxes and closed lists', async () => {
  const script = await open(`<style>body { margin: 0 }</style><div style="position:sticky;top:0;height:80px;background:#ccc">header</div>
    <div style="height:300px;overflow:auto"><div style="height:900px"></div><button id=clipped>clipped</button></div>
    <div style="display:contents" id=contents><button>in contents</button></div>
    <select><option id=option>One</select><div id=wrapper>Field: <input id=field></div><div contenteditable><p id=para>words</p></div>
    <button id=outer><span id=inner style="pointer-events:none">inner</span></button>
    <div style="height:600px"></div><button id=edge>edge</button><div style="height:900px"></div>
    <script>scrollTo(0, edge.offsetTop - 10)</script>`);
  const ready = async (id, more) => script.call('ready', { ref: await script.ref(`#${id}`), ...more });
  const idAt = ({ x, y }) => page.evaluate(([x, y]) => document.elementFromPoint(x, y).id, [x, y]);
  assert.equal(await idAt(await ready('edge')), 'edge');
  assert.equal(await idAt(await ready('clipped')), 'clipped');
  assert.equal((await ready('contents')).ok, true);
  assert.equal((await ready('inner')).ok, true);
  const option = await ready('option');
  assert.equal(option.reason, 'not_visible');
  assert.match(option.message, /select it/);
  assert.equal((await ready('wrapper', { action: 'fill' })).tag, 'input');
  assert.deepEqual(await script.call('setValue', { ref: await script.ref('#para'), value: 'x' }), { type: true });
  await page.keyboard.type('new');
  assert.equal(await page.$eval('[contenteditable]', (element) => element.innerText.trim()), 'new');
});

test('pages without end are read up to a bound', async () => {
  const script = await open('<div id=deep></div><div id=wide></div>');
  await page.evaluate(() => {
    let node = deep;
    // Without boxes: to lay out so many inside each other is more than the browser itself can do.
    for (let i = 0; i < 1_500; i++) {
      node = node.appendChild(document.createElement('div'));
      node.style.display = 'contents';
    }
    node.textContent = 'bottom';
    wide.innerHTML = '<b>w</b>'.repeat(60_000);
  });
  for (const [name, args] of [['snapshot'], ['text'], ['html'], ['find', { locator: 'text=bottom' }], ['elements'], ['search', { query: 'w' }], ['structure'], ['similar', { role: 'button' }]]) {
    assert.equal((await script.call(name, args)).error, undefined, name);
  }
  assert.equal((await script.call('snapshot')).truncated, true);
});

test('an armed element tells whether real input has met it', async () => {
  const script = await open('<button id=a>A</button><button id=b onclick="document.title = \'clicked\'">B</button>');
  const [a, b] = [await script.ref('#a'), await script.ref('#b')];
  await script.call('arm', { ref: a });
  assert.deepEqual(await script.call('verdict'), { arrived: false, hit: false });
  await script.call('arm', { ref: a });
  await page.click('#a');
  assert.deepEqual(await script.call('verdict'), { arrived: true, hit: true });
  await script.call('arm', { ref: a, block: true });
  await page.click('#b');
  const missed = await script.call('verdict');
  assert.deepEqual([missed.arrived, missed.hit], [true, false]);
  assert.equal(await page.title(), 'case');
  await script.call('arm', { ref: b });
  await page.evaluate(() => document.querySelector('#b').click());
  assert.equal((await script.call('verdict')).arrived, false);
});

test('values: what can be typed is made ready, what cannot is set', async () => {
  const script = await open(`<input id=t value=old><textarea id=a>old</textarea><div id=c contenteditable>old</div><input id=d type=date>
    <input id=r type=range><input id=k type=color><input id=box type=checkbox><input id=up type=file multiple><label for=t id=l>Label</label><p id=p>p</p>
    <script>window.log = []; for (const type of ['input', 'change']) addEventListener(type, (e) => log.push(type + ' ' + e.target.id), true);</script>`);
  const set = async (id, value) => script.call('setValue', { ref: await script.ref(`#${id}`), value });
  for (const id of ['t', 'a', 'c', 'l']) {
    assert.deepEqual(await set(id, 'new'), { type: true }, id);
    await page.keyboard.type(`${id} new`);
  }
  assert.deepEqual(await page.evaluate(() => [t.value, a.value, c.textContent]), ['l new', 'a new', 'c new']);
  await page.evaluate(() => { document.activeElement.blur(); log.length = 0; });
  assert.equal((await set('d', '2031-12-24')).value, '2031-12-24');
  assert.equal((await set('r', '70')).done, true);
  assert.equal((await set('k', '#FF8800')).value, '#ff8800');
  assert.deepEqual(await page.evaluate(() => log), ['input d', 'change d', 'input r', 'change r', 'input k', 'change k']);
  assert.equal((await set('d', 'tomorrow')).error, 'bad_value');
  assert.equal((await set('box', 'x')).error, 'not_editable');
  assert.equal((await set('p', 'x')).error, 'not_editable');
  for (const id of ['t', 'a', 'c']) assert.deepEqual(await set(id, ''), { done: true, value: '' }, id);
  assert.deepEqual(await page.evaluate(() => [t.value, a.value, c.textContent]), ['', '', '']);
  await page.type('#t', 'again');
  const ref = await script.ref('#t');
  assert.equal((await script.call('clear', { ref })).done, true);
  assert.equal((await script.call('isFocused', { ref })).focused, true);
  assert.deepEqual(await script.call('selectText', { ref }), { selected: true, empty: true });
  assert.equal((await script.call('fileInput', { ref: await script.ref('#up') })).multiple, true);
  assert.equal((await script.call('fileInput', { ref })).error, 'not_file_input');
});

test('lists and switches', async () => {
  const script = await open(`<select id=s><option value=1>One<option value=2>Two<option value=3 disabled>Three</select>
    <select id=m multiple><option>a<option>b<option>c</select>
    <div id=cb role=combobox aria-expanded=true aria-controls=lb>Pick</div><ul id=lb role=listbox><li role=option aria-selected=true>Red<li role=option>Blue</ul>
    <label id=lx><input type=checkbox id=x>X</label><div id=sw role=switch aria-checked=true>S</div><p id=p>p</p>
    <script>s.onchange = () => { document.title = 'changed ' + s.value; };</script>`);
  const ref = (id) => script.ref(`#${id}`);
  assert.deepEqual((await script.call('select', { ref: await ref('s'), options: ['Two'] })).selected, [{ value: '2', label: 'Two', index: 1 }]);
  assert.equal(await page.title(), 'changed 2');
  const missing = await script.call('select', { ref: await ref('s'), options: [{ value: '9' }] });
  assert.deepEqual([missing.error, missing.available.length], ['no_option', 3]);
  assert.equal((await script.call('select', { ref: await ref('s'), options: [{ index: 2 }] })).error, 'not_enabled');
  await script.call('select', { ref: await ref('m'), options: [{ label: 'a' }, 'c'] });
  assert.deepEqual(await page.evaluate(() => Array.from(m.selectedOptions, (o) => o.value)), ['a', 'c']);
  assert.equal((await script.call('select', { ref: await ref('p'), options: ['a'] })).error, 'not_select');
  const native = await script.call('options', { ref: await ref('s') });
  assert.deepEqual(native.options.map(({ text, selected, disabled }) => [text, selected, disabled]), [['One', false, false], ['Two', true, false], ['Three', false, true]]);
  const custom = await script.call('options', { ref: await ref('cb') });
  assert.deepEqual([custom.type, custom.isOpen, custom.options.map(({ text, selected }) => [text, selected])], ['combobox', true, [['Red', true], ['Blue', false]]]);
  const state = async (id) => script.call('state', { ref: await ref(id) });
  assert.deepEqual([(await state('lx')).checked, (await state('sw')).checked, (await state('sw')).kind, (await state('p')).error], [false, true, 'switch', 'not_checkable']);
});

test('scrolling the page and boxes in it', async () => {
  const script = await open('<div id=box style="height:100px;overflow:auto"><div style="height:900px"></div><b id=end>end</b></div><div style="height:3000px"></div>');
  assert.equal((await script.call('scroll', { direction: 'down', amount: 200 })).y, 200);
  const bottom = await script.call('scroll', { to: 'bottom' });
  assert.ok(bottom.maxY > 1000 && Math.abs(bottom.y - bottom.maxY) < 2);
  assert.equal((await script.call('scroll', { x: 0, y: 10 })).y, 10);
  const inner = await script.call('scroll', { ref: await script.ref('#end'), direction: 'down', amount: 50 });
  assert.deepEqual([inner.y, inner.box], [50, '#box']);
});

test('text to read: the article as Markdown, without what is around it', async () => {
  const long = 'This is a sentence of the article that goes on for a while. '.repeat(8);
  const script = await open(`<nav>Menu <a href=#>Home</a></nav><div class=cookie-banner>We use cookies</div>
    <article><h1>Title</h1><p>${long}</p><ul><li>one<li>two<ol><li>deep</ol></ul><pre>a\n  b</pre><p>Use <code>x</code>.</p>
    <table><tr><th>k<th>v<tr><td>1<td>2</table><blockquote>said</blockquote><aside>related</aside><p hidden>hidden</p></article><footer>Imprint</footer>`);
  const { text, source, title } = await script.call('text');
  assert.deepEqual([source, title], ['article', 'case']);
  for (const part of ['# Title\n\nThis is', '- one\n- two\n  1. deep', '```\na\n  b\n```', 'Use `x`.', '| k | v |\n| 1 | 2 |', '> said']) {
    assert.ok(text.includes(part), `${part} in ${text}`);
  }
  assert.doesNotMatch(text, /Menu|cookies|related|hidden|Imprint/);
  const plain = await script.call('text', { readable: false });
  assert.match(plain.text, /Menu Home[\s\S]*We use cookies[\s\S]*Imprint/);
  assert.doesNotMatch(plain.text, /hidden/);
  const short = await script.call('text', { max: 20 });
  assert.deepEqual([short.text.length, short.truncated], [20, true]);
  assert.equal((await script.call('text', { ref: await script.ref('aside') })).text, 'related');
});

test('html without scripts, styles and secrets', async () => {
  const script = await open('<div id=d class=c style="color:red" onclick="x()" data-x=1>a &lt; b<script>1 < 2</script><style>p{}</style><input type=password value=secret></div>');
  const ref = await script.ref('#d');
  const { html: all } = await script.call('html', { ref });
  assert.equal(all, '<div id="d" class="c" style="color:red" onclick="x()" data-x="1">a &lt; b<script>1 < 2</script><style>p{}</style><input type="password"></div>');
  const { html: clean } = await script.call('html', { ref, clean: true });
  assert.equal(clean, '<div id="d">a &lt; b<input type="password"></div>');
});

test('forms and questions', async () => {
  const script = await open(`<form id=f name=n action=/go method=post><label>Name <input name=who required value=Ann></label><input type=password name=pw value=x>
    <fieldset><legend>Colour?</legend><label><input type=radio name=c value=r>Red</label><label><input type=radio name=c value=b checked>Blue</label></fieldset>
    <div role=radiogroup aria-label="Size?" aria-required=true><div role=radio aria-checked=false aria-label=S></div><div role=radio aria-checked=true aria-label=L></div></div></form>
    <label for=l>Land</label><select id=l><option>A<option selected>B</select>`);
  const { forms, next } = await script.call('forms', { next: 5 });
  assert.deepEqual([forms.length, forms[0].id, forms[0].name, forms[0].action, forms[0].method], [2, 'f', 'n', '/go', 'post']);
  assert.deepEqual(forms[0].fields.slice(0, 2).map(({ name, type, label, value, required, filled }) => ({ name, type, label, value, required, filled })), [
    { name: 'who', type: 'text', label: 'Name', value: 'Ann', required: true, filled: undefined },
    { name: 'pw', type: 'password', label: '', value: '', required: false, filled: true },
  ]);
  assert.deepEqual(forms[1].fields[0].options.map(({ label, selected }) => [label, selected]), [['A', false], ['B', true]]);
  assert.ok(next > 10);
  const { questions, radioGroups, summary } = await script.call('structure');
  const short = questions.map(({ question, type, options, required, answer }) => [question, type, options.map(({ label }) => label), required, answer]);
  assert.deepEqual(short, [
    ['Name', 'text', [], true, 'Ann'], ['pw', 'password', [], false, '•••••'], ['Colour?', 'radio', ['Red', 'Blue'], false, 'Blue'],
    ['Size?', 'radio', ['S', 'L'], true, 'L'], ['Land', 'select', ['A', 'B'], false, 'B'],
  ]);
  assert.deepEqual([radioGroups.length, summary.questions, summary.answered], [2, 5, 5]);
});

test('elements, search, has and at', async () => {
  const script = await open('<a href=/x>Link</a><button>Press</button><input value=v><div style="cursor:pointer" id=d>Div</div><p>Some text about knots here</p><p hidden>unseen words</p>');
  const { elements, total, summary } = await script.call('elements');
  assert.deepEqual(elements.map(({ type, text, selector }) => [type, text, selector]), [['link', 'Link', 'a'], ['button', 'Press', 'button'], ['text', '', 'input'], ['clickable', 'Div', '#d']]);
  assert.deepEqual([total, summary.button, elements[0].href], [4, 1, site.url('/x')]);
  const some = await script.call('elements', { filters: { type: 'button' }, max: 5 });
  assert.deepEqual([some.filtered, some.elements.length, some.truncated], [1, 1, false]);
  const { found, matches } = await script.call('search', { query: 'KNOTS' });
  assert.deepEqual([found, matches[0].text, matches[0].context], [true, 'knots', 'Some text about knots here']);
  assert.equal(await script.call('has', { text: 'about  knots' }), true);
  assert.equal(await script.call('has', { text: 'unseen' }), false);
  const { rect } = elements[1];
  assert.equal((await script.call('at', { x: rect.x + 5, y: rect.y + 5 })).name, 'Press');
  const info = await script.call('info');
  assert.deepEqual([info.title, info.domain, info.viewport, info.focused], ['case', '127.0.0.1', { width: 1000, height: 700 }, null]);
});

test('storage', async () => {
  const script = await open('');
  assert.deepEqual((await script.call('storage', { set: { a: '1', __proto__x: 'y' } })).items, { a: '1', __proto__x: 'y' });
  assert.deepEqual(await script.call('storage', { get: 'a' }), { items: { a: '1' }, count: 1, origin: site.origin });
  assert.deepEqual((await script.call('storage', { remove: 'a' })).items, { __proto__x: 'y' });
  assert.equal((await script.call('storage', { clear: true })).count, 0);
  assert.equal((await script.call('storage', { kind: 'session' })).count, 0);
});

test('annotations are drawn over the page and change nothing in it', async () => {
  const script = await open('<button id=a>A</button><div style="height:2000px"></div><button>B</button><dialog id=m><button id=in>In</button></dialog><script>m.showModal()</script>');
  const before = await page.evaluate(() => [document.documentElement.scrollHeight, document.activeElement.id]);
  const { boxes } = await script.call('annotate', { prefix: 'f1' });
  assert.deepEqual(boxes.map(({ label }) => label), [`f1e${await script.ref('#in')}`]);
  assert.deepEqual(await page.evaluate(() => [document.documentElement.scrollHeight, document.activeElement.id]), before);
  // The browser makes what is behind a modal dialog inert.
  assert.equal(await lines(script), `- dialog [ref=e${await script.ref('#m')}]:\n  - button "In" [active] [ref=e${await script.ref('#in')}]`);
  const full = await script.call('annotate', { full: true });
  assert.ok(full.boxes.some(({ rect }) => rect.y > 1500));
  await script.call('unannotate');
  assert.equal(await page.evaluate(() => document.documentElement.children.length), 2);
  assert.equal((await script.call('highlight', { ref: await script.ref('#in'), ms: 50, text: 'here' })).done, true);
});

test('a person picks an element, and the page does not notice', async () => {
  const script = await open('<button id=a style="width:200px;height:100px" onclick="document.title = \'clicked\'">A</button>');
  const picked = script.call('pick', { message: 'Choose' });
  await delay(100);
  await page.mouse.move(40, 40);
  await page.mouse.click(50, 50);
  assert.equal((await picked).attributes.id, 'a');
  assert.equal(await page.title(), 'case');
  const cancelled = script.call('pick');
  await delay(50);
  await page.keyboard.press('Escape');
  assert.deepEqual(await cancelled, { cancelled: true });
  const ended = script.call('pick');
  await script.call('unpick');
  assert.deepEqual(await ended, { cancelled: true });
  await page.mouse.click(50, 50);
  assert.equal(await page.title(), 'clicked');
});

test('changes are gathered until they are asked for', async () => {
  const script = await open('<div id=list></div><p id=p>old</p>');
  await script.call('watch', { on: true });
  await page.evaluate(() => {
    for (let i = 0; i < 1000; i++) list.append(Object.assign(document.createElement('i'), { textContent: `item ${i}` }));
    p.firstChild.data = 'new';
    p.className = 'x';
  });
  const { changes } = await script.call('changes');
  assert.deepEqual(changes.map(({ kind, selector, count }) => [kind, selector, count]), [['added', '#list', 1000], ['text', '#p', 1], ['attributes', '#p', 1]]);
  assert.equal(changes[1].text, 'new');
  assert.deepEqual((await script.call('changes')).changes, []);
  assert.deepEqual(await script.call('watch', { on: false }), { watching: false });
});

test('the element of a frame gets a ref, and a ref gives its element', async () => {
  const script = await open('<iframe id=i srcdoc="<button>inside</button>"></iframe>');
  const frame = await (await page.$('#i')).contentFrame();
  await frame.waitForSelector('button');
  const { frameTree } = await script.cdp.send('Page.getFrameTree');
  const frameId = frameTree.childFrames[0].frame.id;
  const inner = await PageScript.in(page, frameId);
  assert.equal(await lines(inner, { prefix: 'f1', next: 12 }), '- button "inside" [ref=f1e12]');
  const { backendNodeId } = await script.cdp.send('DOM.getFrameOwner', { frameId });
  const { object } = await script.cdp.send('DOM.resolveNode', { backendNodeId, executionContextId: script.context });
  assert.deepEqual(await script.on('function (element, next) { return this.refOf(element, next); }', { objectId: object.objectId }, { value: 20 }), { ref: 20, next: 21 });
  assert.equal(await script.on('function () { return this.node(20).id; }'), 'i');
});

test('a page of 5,000 elements is read in a moment', async () => {
  const row = (i) => `<tr><td>${i}</td><td><a href=/${i}><span>Item ${i}</span></a></td><td><div><div>text ${i}</div></div></td><td><button><span>Edit ${i}</span></button></td></tr>`;
  const script = await open(`<table>${Array.from({ length: 455 }, (_, i) => row(i)).join('')}</table>`);
  assert.ok(await page.evaluate(() => document.querySelectorAll('*').length) > 5_000);
  const times = await script.on(`function () {
    return Array.from({ length: 5 }, () => { const start = performance.now(); this.snapshot({}); return performance.now() - start; });
  }`);
  // A bound that a busy machine keeps too; what was measured stands in the commit.
  assert.ok(Math.min(...times) < 150, times.join(' '));
});
