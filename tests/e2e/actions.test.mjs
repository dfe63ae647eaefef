// The browser actions of the bridge, each with its result as callers know it, through the debug routes.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from './lib/command.mjs';
import { OWN, hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { http } from './lib/http.mjs';
import { Home } from './lib/hub.mjs';
import { Rest } from './lib/rest.mjs';
import { html } from './lib/site.mjs';
import { test } from './lib/test.mjs';
import { until } from './lib/until.mjs';

const FORM = html('form', `
  <h1>Order</h1>
  <form id=f name=order action=/done onsubmit="event.preventDefault(); document.title = 'sent'">
    <label>Name <input id=name name=name></label>
    <label><input type=checkbox name=news> News</label>
    <fieldset><legend>Size?</legend><label><input type=radio name=size value=s> Small</label><label><input type=radio name=size value=l> Large</label></fieldset>
    <fieldset><legend>Toppings</legend><label><input type=checkbox name=t value=a> Anchovies</label><label><input type=checkbox name=t value=b> Basil</label></fieldset>
    <label>Colour <select id=colour name=colour><option value="">-<option value=r>Red<option value=b>Blue</select></label>
    <label>Note <textarea id=note name=note></textarea></label>
    <button id=send>Send</button>
  </form>
  <a id=next href=/two>Next page</a>
  <p id=hidden style="display:none">Hidden</p>
  <button class=go onclick="document.title += '1'">Go there</button> <button class=go onclick="document.title += '2'">Go there</button>
  <div id=under style="position:relative;width:120px;height:30px"><button id=covered>Covered</button><div id=lid style="position:absolute;inset:0;background:#ccc">Lid</div></div>
  <button id=box role=combobox aria-haspopup=listbox aria-expanded=false aria-controls=list>Fruit</button>
  <ul id=list role=listbox hidden><li role=option data-value=apple>Apple<li role=option data-value=pear>Pear</ul>`,
  `box.onclick = () => setTimeout(() => { list.hidden = false; box.setAttribute('aria-expanded', 'true'); }, 100);
   onkeydown = (e) => { window.lastKey = e.key; if (e.key === 'Escape') { list.hidden = true; box.setAttribute('aria-expanded', 'false'); window.wasClosed = true; } };
   list.onclick = (e) => { box.textContent = e.target.textContent; list.hidden = true; box.setAttribute('aria-expanded', 'false'); };`);
const LONG = html('long', `<p>The beginning</p><div style="height:3000px"></div><p id=end>The end</p>`, `console.log('one'); console.error('two');`);
const DRAG = html('drag', `<div id=a draggable=true style="width:80px;height:40px;background:#9cf">Piece</div>
  <div id=b style="margin-top:60px;width:120px;height:80px;background:#fc9">Box</div>`,
  `a.ondragstart = (e) => e.dataTransfer.setData('text', 'piece'); b.ondragover = (e) => e.preventDefault();
   b.ondrop = (e) => { document.title = 'dropped ' + e.dataTransfer.getData('text'); }; a.onmouseover = () => { document.title = 'hovered'; };`);

let bridge;
const act = (...args) => bridge.act(...args);
const refused = (...args) => bridge.refused(...args);
const open = (path) => act('navigate', { url: at.site.url(path) });
const title = () => bridge.script('document.title');
const keys = (value, ...names) => assert.deepEqual(Object.keys(value).sort(), names.sort());

const at = fixture({
  env: { BOWLINE_API_DEBUG_HTTP: 'true' },
  pages: {
    '/form': FORM, '/long': LONG, '/drag': DRAG,
    '/secret': { headers: { 'set-cookie': ['knot=bowline; Path=/; HttpOnly', 'plain=1; Path=/'] }, body: html('secret', '') },
  },
  async open({ target }) { bridge = await Command.of(target); },
});

/** A check for every action, by its name. */
const CHECKS = {
  async getTabs() {
    const { tabId } = await open('/');
    const tabs = await act('getTabs');
    keys(tabs[0], 'id', 'url', 'title', 'active', 'windowId', 'index');
    const mine = tabs.find((tab) => tab.id === tabId);
    assert.deepEqual([mine.url, mine.active, tabs[mine.index].id], [at.site.url('/'), true, tabId]);
    if (!OWN) assert.equal(typeof mine.windowId, 'number');
  },
  async getActiveTab() {
    const { tabId } = await open('/');
    const tab = await act('getActiveTab');
    keys(tab, 'id', 'url', 'title', 'windowId');
    assert.deepEqual([tab.id, tab.url], [tabId, at.site.url('/')]);
  },
  async createTab() {
    const before = await open('/');
    const made = await act('createTab', { url: at.site.url('/two') });
    assert.deepEqual([made.success, made.url, made.title], [true, at.site.url('/two'), 'two']);
    assert.match(made.tabId, /^t\d+$/);
    assert.notEqual(made.tabId, before.tabId);
    assert.equal((await act('getActiveTab')).id, made.tabId);
    await act('closeTab');
    await act('focusTab', { tabId: before.tabId });
  },
  async closeTab() {
    const before = await open('/');
    const { tabId } = await act('createTab', { url: at.site.url('/three') });
    assert.deepEqual(await act('closeTab', { tabId }), { success: true, tabId });
    assert.equal((await act('getTabs')).some((tab) => tab.id === tabId), false);
    assert.equal((await refused('getPageInfo', { tabId })).code, 'no_such_tab');
    await act('focusTab', { tabId: before.tabId });
  },
  async focusTab() {
    const before = await open('/');
    const { tabId } = await act('createTab', { url: at.site.url('/three') });
    assert.deepEqual(await act('focusTab', { url: '/three' }), { success: true, tabId });
    assert.deepEqual(await act('focusTab', { tabId: before.tabId }), { success: true, tabId: before.tabId });
    assert.equal((await act('getPageInfo')).url, at.site.url('/'));
    assert.equal((await act('getPageInfo', { url: '/three' })).title, 'three', 'a background tab');
    assert.equal((await act('getActiveTab')).id, before.tabId, 'which does not become the current one');
    await act('closeTab', { tabId });
  },
  async navigate() {
    const there = await act('navigate', { url: at.site.url('/two'), waitUntil: 'domcontentloaded', timeout: 20_000 });
    keys(there, 'success', 'tabId', 'url', 'title');
    assert.deepEqual([there.success, there.url, there.title], [true, at.site.url('/two'), 'two']);
    assert.equal((await refused('navigate', { url: 'http://127.0.0.1:9/' })).code, 'navigation_failed');
    assert.match((await refused('navigate', { url: 'http://a.b', waitUntil: 'whenever' })).message, /waitUntil/);
  },
  async goBack() {
    await open('/two');
    await open('/three');
    const back = await act('goBack');
    assert.deepEqual([back.success, back.url, back.title], [true, at.site.url('/two'), 'two']);
    assert.match(back.tabId, /^t\d+$/);
  },
  async goForward() {
    await open('/two');
    await open('/three');
    await act('goBack');
    assert.equal((await act('goForward')).title, 'three');
    assert.equal((await refused('goForward')).code, 'navigation_failed');
  },
  async getPageInfo() {
    await open('/long');
    const info = await act('getPageInfo');
    keys(info, 'url', 'title', 'domain', 'scrollPosition', 'viewportSize', 'documentSize');
    assert.deepEqual([info.title, info.domain, info.scrollPosition], ['long', '127.0.0.1', { x: 0, y: 0 }]);
    assert.ok(info.documentSize.height > 3000 && info.viewportSize.height > 100);
  },
  async getVisibleText() {
    await open('/form');
    const all = await act('getVisibleText');
    keys(all, 'text', 'length', 'truncated', 'url', 'title');
    assert.ok(all.text.includes('Order') && !all.text.includes('Hidden') && !all.truncated && all.length === all.text.length);
    const cut = await act('getVisibleText', { maxLength: 10 });
    assert.deepEqual([cut.text.length, cut.truncated, cut.url], [10, true, at.site.url('/form')]);
  },
  async getVisibleHtml() {
    await open('/form');
    const part = await act('getVisibleHtml', { selector: '#hidden' });
    keys(part, 'html', 'length', 'selector', 'url');
    assert.deepEqual([part.html, part.selector], ['<p id="hidden" style="display:none">Hidden</p>', '#hidden']);
    assert.ok((await act('getVisibleHtml')).html.includes('<script>'));
    const clean = await act('getVisibleHtml', { removeScripts: true, removeStyles: true });
    assert.ok(!clean.html.includes('<script>') && !clean.html.includes('style='));
    assert.ok((await act('getVisibleHtml', { cleanHtml: true })).length < clean.length);
    assert.equal((await act('getVisibleHtml', { maxLength: 50 })).html.length, 50);
  },
  async screenshot() {
    await open('/long');
    const shot = await act('screenshot');
    keys(shot, 'screenshot', 'format');
    assert.match(shot.screenshot, /^data:image\/png;base64,iVBOR/);
    const jpeg = await act('screenshot', { format: 'jpeg', quality: 40, fullPage: true });
    assert.deepEqual([jpeg.format, jpeg.screenshot.startsWith('data:image/jpeg;base64,/9j/')], ['jpeg', true]);
    assert.match((await act('screenshot', { selector: '#end', format: 'webp' })).screenshot, /^data:image\/webp/);
    const front = await act('getActiveTab');
    const { tabId } = await act('createTab', { url: at.site.url('/two') });
    await act('focusTab', { tabId: front.id });
    const focus = () => bridge.script('[document.visibilityState, document.hasFocus()]');
    const before = await focus();
    await act('screenshot', { tabId });
    assert.deepEqual(await focus(), before, 'a picture of another tab does not steal the focus');
    await act('closeTab', { tabId });
  },
  async getUIElements() {
    await open('/form');
    const listed = await act('getUIElements', { verbose: true });
    keys(listed, 'elements', 'summary');
    assert.ok(listed.elements.some((element) => element.selector === '#send' && element.role === 'button') && listed.summary.button >= 3);
  },
  async inspectCurrentPage() {
    await open('/form');
    const seen = await act('inspectCurrentPage', { includeScreenshot: true });
    keys(seen, 'pageInfo', 'elements', 'screenshot');
    assert.ok(seen.pageInfo.title === 'form' && seen.elements.length > 5 && seen.screenshot.startsWith('data:image/png'));
    keys(await act('inspectCurrentPage'), 'pageInfo', 'elements');
  },
  async getInteractiveElements() {
    await open('/form');
    const [first] = await act('getInteractiveElements');
    for (const name of ['index', 'type', 'tagName', 'text', 'selector', 'href', 'value', 'rect', 'frameId']) assert.ok(name in first, name);
    await open('/frames');
    const inFrames = await until('the buttons of both frames', async () => {
      const all = await act('getInteractiveElements');
      return all.filter((element) => element.text === 'hit').length === 2 && all;
    });
    const [one, other] = inFrames.filter((element) => element.text === 'hit');
    assert.ok(one.frameId > 0 && other.frameId > 0 && one.frameId !== other.frameId && one.rect.x < other.rect.x);
    await act('clickElement', { selector: other.selector });
  },
  async getPageContext() {
    await open('/form');
    const context = await act('getPageContext');
    keys(context, 'elements', 'pageInfo');
    assert.equal(context.pageInfo.url, at.site.url('/form'));
  },
  async listInteractiveElements() {
    await open('/form');
    const listed = await act('listInteractiveElements', { filters: { type: 'button', text: 'go' }, maxElements: 1 });
    keys(listed, 'elements', 'total', 'filtered', 'truncated', 'summary');
    assert.deepEqual([listed.elements.length, listed.filtered, listed.truncated], [1, 2, true]);
    assert.ok(listed.total > 5);
    assert.match((await refused('listInteractiveElements', { filters: { knot: 1 } })).message, /filters\.knot/);
  },
  async clickElement() {
    await open('/form');
    assert.deepEqual(await act('clickElement', { selector: '.go' }), { success: true, selector: '.go' });
    assert.equal(await title(), 'form1', 'the first of several');
    assert.deepEqual(await act('clickElement', { text: 'next PAGE' }), { success: true, selector: '#next' });
    assert.equal((await act('getPageInfo')).title, 'two');
    assert.match((await refused('clickElement')).message, /`selector`/);
    assert.match((await refused('clickElement', { selector: '#none', timeout: 300 })).message, /`#none`/);
  },
  async fillElement() {
    await open('/form');
    const value = (id) => bridge.script(`document.querySelector('#${id}').value`);
    assert.deepEqual(await act('fillElement', { selector: '#name', value: 'Ada' }), { success: true, selector: '#name', value: 'Ada' });
    await act('fillElement', { selector: '#name', value: ' L', clearFirst: false });
    assert.equal(await value('name'), 'Ada L');
    await act('fillElement', { selector: '#name', value: '.', clearFirst: false, simulateTyping: true });
    assert.equal(await value('name'), 'Ada L.');
    await act('fillElement', { selector: '#note', value: 'typed', simulateTyping: true });
    assert.deepEqual([await value('note'), await bridge.script('window.lastKey')], ['typed', 'd']);
    await act('fillElement', { selector: '[name=news]', value: true });
    assert.equal(await bridge.script(`f.elements.news.checked`), true);
    assert.match((await refused('fillElement', { selector: '#name', value: [] })).message, /`value`/);
  },
  async scrollTo() {
    await open('/long');
    const y = async (payload) => {
      const { success, scrolledTo } = await act('scrollTo', payload);
      assert.equal(success, true);
      return scrolledTo.y;
    };
    assert.ok(await y({ target: 'bottom' }) > 2000);
    assert.equal(await y({ target: 'top' }), 0);
    const down = await y({ target: 'down' });
    assert.ok(down > 100 && await y({ target: 'up' }) < down);
    assert.equal(await y({ x: 0, y: 700 }), 700);
    assert.ok(await y({ target: '#end' }) > 2000);
    assert.match((await refused('scrollTo')).message, /`target`/);
  },
  async hover() {
    await open('/drag');
    assert.deepEqual(await act('hover', { selector: '#a' }), { success: true, selector: '#a', tagName: 'div', text: 'Piece' });
    assert.equal(await title(), 'hovered');
  },
  async drag() {
    await open('/drag');
    assert.deepEqual(await act('drag', { sourceSelector: '#a', targetSelector: '#b' }), { success: true, source: '#a', target: '#b' });
    assert.equal(await title(), 'dropped piece');
    await open('/drag');
    assert.deepEqual((await act('drag', { sourceSelector: '#a', toX: 40, toY: 140 })).target, { x: 40, y: 140 });
    assert.equal(await title(), 'dropped piece');
    assert.match((await refused('drag', { sourceSelector: '#a' })).message, /`targetSelector`/);
  },
  async pressKey() {
    await open('/form');
    assert.deepEqual(await act('pressKey', { key: 'x', selector: '#name' }), { success: true, key: 'x', selector: '#name', targetTag: 'input' });
    assert.deepEqual(await act('pressKey', { key: 'y' }), { success: true, key: 'y', selector: null, targetTag: 'input' });
    assert.equal(await bridge.script('f.elements.name.value'), 'xy');
  },
  async clickByText() {
    await open('/form');
    const clicked = await act('clickByText', { text: 'go there', index: 1 });
    keys(clicked, 'success', 'clickedText', 'selector', 'totalMatches');
    assert.deepEqual([clicked.clickedText, clicked.totalMatches, await title()], ['Go there', 2, 'form2']);
    assert.equal((await act('clickByText', { text: 'Go there', elementType: 'button' })).totalMatches, 2);
    assert.equal((await refused('clickByText', { text: 'go there', index: 9 })).code, 'not_found');
    assert.equal((await refused('clickByText', { text: 'nowhere', timeout: 300 })).code, 'not_found');
    await act('clickByText', { text: 'Next', elementType: 'link', waitForNavigation: true });
    assert.equal((await act('getPageInfo')).title, 'two');
  },
  async clickMultiple() {
    await open('/form');
    const begun = performance.now();
    const done = await act('clickMultiple', { selectors: ['.go >> nth=0', '.go >> nth=1', '.go >> nth=0'], delayMs: 300 });
    assert.ok(performance.now() - begun >= 600, 'it waits between them');
    keys(done, 'success', 'results', 'summary');
    assert.deepEqual([done.success, done.summary, await title()], [true, { total: 3, succeeded: 3, failed: 0 }, 'form121']);
    const partly = await act('clickMultiple', { selectors: ['#none', '.go'], timeout: 300 });
    assert.deepEqual([partly.success, partly.results.map((result) => result.success)], [false, [false, true]]);
    assert.equal(partly.results[0].error.code, 'not_found');
  },
  async clickElementWithDebug() {
    await open('/form');
    const done = await act('clickElementWithDebug', { selector: '.go' });
    assert.deepEqual([done.success, done.clickedElement.tagName], [true, 'button']);
    const covered = await act('clickElementWithDebug', { selector: '#covered', timeout: 500 });
    assert.equal(covered.success, false);
    assert.match(covered.debug.coveredBy, /lid/i);
    assert.ok(covered.debug.candidates.length === 1 && covered.debug.visibility.visible === true && covered.debug.suggestions.length > 0);
    const none = await act('clickElementWithDebug', { selector: '#sned' });
    assert.ok(none.success === false && none.debug.suggestions.some((one) => one.selector === '#send'));
  },
  async getFormData() {
    await open('/form');
    const [form] = await act('getFormData');
    keys(form, 'id', 'name', 'action', 'method', 'fields');
    assert.deepEqual([form.id, form.name, form.action, form.method], ['f', 'order', '/done', 'get']);
    assert.ok(form.fields.some((field) => field.label === 'Name' && /^e\d+$/.test(field.ref)));
  },
  async getFormStructure() {
    await open('/form');
    const found = await act('getFormStructure');
    keys(found, 'forms', 'questions', 'radioGroups', 'summary');
    assert.equal(found.radioGroups[0].question, 'Size?');
    assert.ok(found.questions.some((question) => question.question === 'Toppings' && question.type === 'checkboxes'));
  },
  async fillFormField() {
    await open('/form');
    const filled = await act('fillFormField', { label: 'name', value: 'Ada' });
    assert.deepEqual(filled, { success: true, elementLabel: 'Name', selector: '#name', value: 'Ada' });
    assert.equal((await act('fillFormField', { fieldName: 'colour', value: 'Blue' })).success, true);
    assert.equal((await act('fillFormField', { fieldName: 'size', value: 'Large' })).success, true);
    assert.equal((await act('fillFormField', { label: 'News', value: true })).success, true);
    assert.deepEqual(await bridge.script(`['name', 'colour', 'size'].map((n) => f.elements[n].value).concat(f.elements.news.checked)`), ['Ada', 'b', 'l', true]);
    const none = await act('fillFormField', { label: 'Shoe', value: 'x' });
    assert.ok(none.success === false && none.availableFields.some((field) => field.label === 'Name'));
    assert.match((await refused('fillFormField', { value: 'x' })).message, /`label`/);
  },
  async selectOption() {
    await open('/form');
    assert.deepEqual(await act('selectOption', { selector: '#colour', value: 'b' }), { success: true, selectedValue: 'b', selectedText: 'Blue' });
    assert.equal((await act('selectOption', { selector: '#colour', text: 'Red' })).selectedValue, 'r');
    assert.equal((await act('selectOption', { selector: '#colour', index: 2 })).selectedText, 'Blue');
    const none = await act('selectOption', { selector: '#colour', text: 'Green' });
    assert.ok(none.success === false && none.availableOptions.some((option) => option.label === 'Blue'));
    assert.deepEqual(await act('selectOption', { selector: '#box', text: 'Pear' }), { success: true, selectedValue: 'pear', selectedText: 'Pear' });
    assert.equal(await bridge.script('box.textContent'), 'Pear', 'also in one that the page has built');
    assert.equal((await act('selectOption', { selector: '#box', value: 'plum' })).success, false);
    assert.match((await refused('selectOption', { selector: '#colour' })).message, /`value`/);
  },
  async getDropdownOptions() {
    await open('/form');
    const native = await act('getDropdownOptions', { selector: '#colour' });
    keys(native, 'type', 'isOpen', 'options');
    assert.deepEqual([native.type, native.options.map((option) => option.text)], ['select', ['-', 'Red', 'Blue']]);
    const custom = await act('getDropdownOptions', { selector: '#box', waitMs: 400 });
    assert.deepEqual([custom.isOpen, custom.options.map((option) => option.value)], [false, ['apple', 'pear']]);
    assert.equal(await bridge.script('window.wasClosed'), true, 'closed with Escape');
    assert.equal((await act('getDropdownOptions', { selector: '#box', closeAfter: false })).isOpen, true);
  },
  async answerQuestions() {
    await open('/form');
    const done = await act('answerQuestions', {
      answers: { Name: 'Ada', 'size': 'Large', Toppings: ['Basil'], Colour: 'Red', News: 'yes' }, defaultAnswer: 'n/a',
    });
    keys(done, 'success', 'results', 'summary');
    assert.deepEqual([done.success, done.summary.failed], [true, 0], JSON.stringify(done));
    assert.deepEqual(await bridge.script(`[f.elements.name.value, f.elements.size.value, [...f.elements.t].map((t) => t.checked), f.elements.colour.value, f.elements.news.checked, f.elements.note.value]`),
      ['Ada', 'l', [false, true], 'r', true, 'n/a']);
    const partly = await act('answerQuestions', { answers: { Size: 'Huge', Shoe: '43' } });
    assert.deepEqual([partly.success, partly.results.map((result) => result.success)], [false, [false, false]]);
    assert.deepEqual(partly.results.find((result) => result.question === 'Size?').availableOptions, ['Small', 'Large']);
  },
  async getConsoleLogs() {
    await open('/long');
    const logs = await until('both messages', async () => {
      const logs = await act('getConsoleLogs');
      return logs.logs.length >= 2 && logs;
    });
    keys(logs, 'logs', 'count', 'types');
    assert.equal(logs.count, logs.logs.length);
    assert.ok(logs.types.log >= 1 && logs.types.error >= 1);
    assert.ok((await act('getConsoleLogs', { filter: 'error' })).logs.every((log) => log.type === 'error'));
    assert.equal((await act('getConsoleLogs', { filter: 'ONE', clear: true })).logs.at(-1).text, 'one');
    assert.equal((await act('getConsoleLogs')).count, 0);
  },
  async getNetworkRequests() {
    await open('/');
    await bridge.script(`await fetch('/api'); await fetch('/nowhere');`);
    const found = await until('the requests', async () => {
      const found = await act('getNetworkRequests', { filter: '/(api|nowhere)$' });
      return found.requests.filter((request) => request.status).length >= 2 && found;
    });
    keys(found, 'requests', 'count', 'summary');
    assert.ok(found.summary.byStatus['404'] >= 1 && found.summary.failed >= 1 && found.summary.total === found.count);
    await act('getNetworkRequests', { clear: true });
    assert.equal((await act('getNetworkRequests', { filter: '/api' })).count, 0);
  },
  async getLocalStorage() {
    await open('/');
    await bridge.script(`localStorage.setItem('knot', 'bowline'); localStorage.setItem('b', '2');`);
    assert.deepEqual(await act('getLocalStorage', { key: 'knot' }), { success: true, items: { knot: 'bowline' }, count: 1, domain: '127.0.0.1' });
    assert.equal((await act('getLocalStorage')).items.b, '2');
  },
  async getCookies() {
    await open('/secret');
    const cookies = await act('getCookies');
    const knot = cookies.find((cookie) => cookie.name === 'knot');
    assert.deepEqual([knot.value, knot.httpOnly], ['bowline', true]);
    assert.ok(cookies.some((cookie) => cookie.name === 'plain'));
  },
  async findElementWithDebug() {
    await open('/form');
    const found = await act('findElementWithDebug', { selector: '.go' });
    keys(found, 'found', 'matchCount', 'candidates', 'suggestions');
    assert.deepEqual([found.found, found.matchCount, found.candidates.length, found.candidates[0].clickable], [true, 2, 2, true]);
    const covered = await act('findElementWithDebug', { selector: '#covered' });
    assert.match(covered.candidates[0].coveredBy, /lid/i);
    const hidden = await act('findElementWithDebug', { selector: '#hidden' });
    assert.ok(hidden.candidates[0].visible === false && hidden.candidates[0].reason && hidden.suggestions.length > 0);
    const none = await act('findElementWithDebug', { selector: '#nmae' });
    assert.ok(none.found === false && none.matchCount === 0 && none.suggestions.some((one) => one.selector === '#name'), JSON.stringify(none));
    assert.equal((await refused('findElementWithDebug', { selector: 'a[[' })).code, 'bad_locator');
  },
  async isElementVisible() {
    await open('/form');
    const seen = await act('isElementVisible', { selector: '#send' });
    keys(seen, 'exists', 'visible', 'rect', 'inViewport', 'reason');
    assert.deepEqual([seen.exists, seen.visible, seen.inViewport, seen.reason], [true, true, true, null]);
    const hidden = await act('isElementVisible', { selector: '#hidden' });
    assert.deepEqual([hidden.exists, hidden.visible], [true, false]);
    assert.match(hidden.reason, /not drawn/);
    assert.deepEqual((await act('isElementVisible', { selector: '#none' })).exists, false);
    await open('/long');
    const below = await act('isElementVisible', { selector: '#end' });
    assert.deepEqual([below.visible, below.inViewport, /view/.test(below.reason)], [true, false, true]);
    assert.equal((await act('getPageInfo')).scrollPosition.y, 0, 'a look does not scroll');
  },
  async executeScript() {
    await open('/form');
    assert.deepEqual(await act('executeScript', { script: 'document.title' }), { success: true, result: 'form' });
    assert.equal(await bridge.script('const x = 2; return x * 3;'), 6);
    assert.equal(await bridge.script('if (true) { return await Promise.resolve(4); }'), 4);
    assert.equal(await bridge.script('() => 5'), 5);
    assert.equal((await refused('executeScript', { script: 'nothing.there' })).code, 'page_threw');
    assert.equal(await bridge.script(`new Promise((done) => setTimeout(() => done('late'), 6000))`), 'late', 'longer than five seconds');
  },
  async findTabByUrl() {
    const { tabId } = await open('/two?find');
    const found = await act('findTabByUrl', { urlPattern: '/two?find' });
    keys(found, 'found', 'matches', 'count', 'tab', 'tabId');
    assert.deepEqual([found.found, found.count, found.tabId, found.tab.id], [true, 1, tabId, tabId]);
    assert.equal((await act('findTabByUrl', { urlPattern: '*/two?f*' })).found, true);
    assert.deepEqual(await act('findTabByUrl', { urlPattern: 'nowhere' }), { found: false, matches: [], count: 0, tab: null, tabId: null });
  },
  async waitForSelector() {
    await open('/form');
    await bridge.script(`setTimeout(() => { document.querySelector('#hidden').style.display = ''; }, 5500)`);
    assert.equal((await act('waitForSelector', { selector: '#hidden' })).found, true, 'it is there');
    const found = await act('waitForSelector', { selector: '#hidden', visible: true, timeout: 15_000 });
    keys(found, 'success', 'found', 'element');
    assert.deepEqual([found.success, found.element.tagName, found.element.visible], [true, 'p', true]);
    assert.deepEqual(await act('waitForSelector', { selector: '#none', timeout: 300 }), { success: false, found: false, element: null });
  },
  async waitForPageLoad() {
    await open('/two');
    const loaded = await act('waitForPageLoad', { timeout: 10_000 });
    assert.deepEqual(loaded, { success: true, readyState: 'complete', url: at.site.url('/two'), title: 'two' });
  },
  async setWatchMode() {
    const { tabId } = await open('/form');
    const changes = async () => (await bridge.ask('POST', '/execute', { method: 'watchedChanges' })).result;
    assert.deepEqual(await act('setWatchMode', { enabled: true }), { watchMode: true });
    await changes();
    await bridge.script(`document.querySelector('h1').textContent = 'Changed'`);
    const [watched] = await changes();
    assert.deepEqual([watched.tabId, watched.browser], [tabId, bridge.browser]);
    assert.ok(watched.changes.some((change) => change.selector.includes('h1') && change.text.includes('Changed')), JSON.stringify(watched));
    assert.deepEqual(await changes(), [], 'each is told once');
    await open('/two');
    assert.equal((await changes())[0].changes[0].kind, 'document');
    await bridge.script(`document.body.append('more')`);
    assert.ok((await changes())[0].changes.some((change) => change.text.includes('more')), 'the next page is watched too');
    assert.deepEqual(await act('setWatchMode', { enabled: false }), { watchMode: false });
    await bridge.script(`document.body.append('again')`);
    assert.deepEqual(await changes(), []);
    assert.match((await refused('setWatchMode')).message, /enabled/);
  },
  async uploadFile() {
    await open('/uploads');
    const file = (name) => join((at.target.hub ?? at.target).home.tmp, name);
    for (const name of ['a.txt', 'b.txt']) await writeFile(file(name), name);
    assert.deepEqual(await act('uploadFile', { selector: '#files', filePath: file('a.txt') }), { success: true, files: [file('a.txt')] });
    await until('the page has it', async () => await title() === 'a.txt=a.txt');
    assert.equal((await act('uploadFile', { selector: '#files', filePaths: [file('a.txt'), file('b.txt')] })).files.length, 2);
    assert.equal((await refused('uploadFile', { selector: '#files', filePath: '/none' })).code, 'file_error');
    assert.match((await refused('uploadFile', { selector: '#files' })).message, /`filePath`/);
  },
  async saveAsPdf() {
    await open('/two');
    const { success, data } = await act('saveAsPdf', { options: { format: 'A5', landscape: true, printBackground: false } });
    assert.deepEqual([success, Buffer.from(data, 'base64').subarray(0, 5).toString()], [true, '%PDF-']);
    const outputPath = join((at.target.hub ?? at.target).home.tmp, 'page.pdf');
    assert.deepEqual(await act('saveAsPdf', { outputPath }), { success: true, path: outputPath });
    assert.equal((await readFile(outputPath)).subarray(0, 5).toString(), '%PDF-');
    assert.match((await refused('saveAsPdf', { options: { knot: 1 } })).message, /options\.knot/);
  },
  async getElementForNativeInput() {
    await open('/long');
    const { success, coordinates: { absolute, normalized }, size } = await act('getElementForNativeInput', { selector: '#end' });
    const rect = await bridge.script(`document.querySelector('#end').getBoundingClientRect().toJSON()`);
    assert.deepEqual([success, Math.round(size.width), Math.round(size.height)], [true, Math.round(rect.width), Math.round(rect.height)]);
    const [left, top] = await bridge.script(`[screenX, screenY]`);
    assert.ok(absolute.x >= left + rect.x && absolute.y >= top + rect.y, 'it was brought into the view');
    for (const part of [normalized.x, normalized.y]) assert.ok(part >= 0 && part <= 1);
  },
  async ping() {
    assert.equal((await act('ping')).pong, true);
  },
  async searchVisibleText() {
    await open('/form');
    const found = await act('searchVisibleText', { query: 'next page' });
    keys(found, 'found', 'matches');
    assert.deepEqual([found.found, found.matches[0].text], [true, 'Next page']);
    assert.equal((await act('searchVisibleText', { query: 'nowhere' })).found, false);
  },
  async getElementAtPoint() {
    await open('/form');
    const { rect } = await act('isElementVisible', { selector: '#send' });
    const found = await act('getElementAtPoint', { x: rect.x + 3, y: rect.y + 3 });
    assert.deepEqual([found.selector, found.tagName], ['#send', 'button']);
    assert.match((await refused('getElementAtPoint', { x: 1 })).message, /`y`/);
  },
  async listConnected() {
    await open('/');
    const { connected } = await act('listConnected');
    assert.ok(connected.some((one) => one.browser === bridge.browser));
    assert.ok((await act('listConnected', { browser: bridge.kind })).connected.length > 0);
    assert.deepEqual(await act('listConnected', { browser: 'safari' }), { connected: [] });
  },
  async setDefaultBrowser() {
    const { tabId } = await open('/three');
    const other = bridge.as('other');
    assert.deepEqual(await other.act('setDefaultBrowser', { browser: bridge.browser }), { success: true, browser: bridge.browser });
    const tabs = await other.act('getTabs', {}, null);
    assert.ok(tabs.some((tab) => tab.id === tabId));
    const unknown = await other.refused('setDefaultBrowser', { browser: 'safari' });
    assert.deepEqual([unknown.code, unknown.hint.includes(bridge.browser)], ['no_such_browser', true]);
  },
};

test('every action of the table has a check here', hubOnly, async () => {
  const { actions } = await bridge.ask('GET', '/health');
  assert.deepEqual(actions.map(({ name }) => name).sort(), Object.keys(CHECKS).sort());
  assert.deepEqual(actions.flatMap(({ aliases }) => aliases).sort(),
    ['get_visible_html', 'go_back', 'go_forward', 'press_key', 'save_as_pdf', 'upload_file']);
});

for (const [name, check] of Object.entries(CHECKS)) test(name, hubOnly, check);

test('aliases do the same', hubOnly, async () => {
  await open('/two');
  await open('/form');
  assert.equal((await act('press_key', { key: 'z', selector: '#name' })).targetTag, 'input');
  assert.equal((await act('get_visible_html', { selector: 'h1' })).html, '<h1>Order</h1>');
  assert.ok((await act('save_as_pdf')).data);
  assert.equal((await act('go_back')).title, 'two');
  assert.equal((await act('go_forward')).title, 'form');
  assert.match((await refused('upload_file', { selector: '#name' })).message, /`filePath`/);
});

test('a tab is meant by its name, its id, or part of its address, and a browser by its kind', hubOnly, async () => {
  const { tabId } = await open('/two?meant');
  const { targetId } = { targetId: (await refused('getPageInfo', { tabId: 't999' })).tabs.find((tab) => tab.tab === tabId).id };
  for (const target of [{ tabId }, { tabId: targetId }, { url: '/two?MEANT' }, {}]) {
    assert.equal((await act('getPageInfo', target)).url, at.site.url('/two?meant'), JSON.stringify(target));
  }
  assert.equal((await refused('getPageInfo', { url: 'nowhere' })).code, 'no_such_tab');
  assert.match((await refused('getPageInfo', { tabId: 1 })).message, /`tabId`/);
  assert.equal((await act('getPageInfo', {}, bridge.kind)).url, at.site.url('/two?meant'));
  const none = await refused('getPageInfo', {}, 'safari');
  assert.deepEqual([none.status, none.code, none.hint.includes(bridge.browser)], [404, 'no_such_browser', true]);
});

test('what is not known is named, with what is near', hubOnly, async () => {
  const unknown = await refused('get_tabs');
  assert.deepEqual([unknown.status, unknown.code, unknown.nearest[0]], [404, 'no_such_op', 'getTabs']);
  const field = await refused('hover', { selector: 'h1', knot: 1 });
  assert.deepEqual([field.status, field.code, /knot/.test(field.message)], [400, 'bad_input', true]);
});

test('the debug routes: /execute, /health, /browsers, /ping', hubOnly, async () => {
  await open('/two');
  const run = (name, args = {}) => bridge.ask('POST', '/execute', { method: 'executeToolFromWebSocket', params: { name, arguments: { browser: bridge.browser, ...args } } });
  assert.ok((await run('browser_getTabs')).result.some((tab) => tab.url === at.site.url('/two')));
  assert.equal((await run('getPageInfo')).result.title, 'two');
  assert.match((await run('browser_snapshot')).result.data.snapshot, /heading "Two"/, 'an op by the name of its tool');
  assert.equal((await run('browser_teleport')).error.code, 'no_such_op');
  assert.equal((await bridge.ask('POST', '/execute', { method: 'ping' })).result.pong, true);
  assert.match((await bridge.ask('POST', '/execute', { method: 'executeToolFromWebSocket' })).error.message, /name/);
  assert.equal((await bridge.ask('GET', '/health')).connectedBrowsers >= 1, true);
  assert.ok((await bridge.ask('GET', '/browsers')).browsers.some((one) => one.name === bridge.browser && one.connected));
  assert.equal((await bridge.ask('GET', '/ping')).pong, true);
  assert.equal((await bridge.ask('POST', '/command', { action: 'ping', id: 7 })).id, 7);
});

test('the debug routes: /getLogs', hubOnly, async () => {
  await open('/two');
  await bridge.script(`console.log('for the log')`);
  await until('the log has it', async () => (await bridge.ask('GET', '/getLogs')).logs.some((log) => log.text === 'for the log'));
});

const ROUTES = [['POST', '/command'], ['POST', '/execute'], ['GET', '/health'], ['GET', '/browsers'], ['GET', '/ping'], ['GET', '/getLogs']];

test('they want the token, and no web page may ask', hubOnly, async () => {
  for (const [method, path] of ROUTES) {
    const body = method === 'POST' ? { action: 'ping', method: 'ping' } : undefined;
    assert.equal((await bridge.ask(method, path, body, { authorization: 'Bearer wrong' })).status, 401, path);
    assert.equal((await bridge.ask(method, path, body, { origin: 'http://evil.test' })).status, 403, path);
  }
});

test('they are only there with --debug-http', hubOnly, async () => {
  const home = await Home.make();
  try {
    for (const args of [[], ['--debug-http']]) {
      const hub = await home.serve({ args });
      const { token } = await Rest.of(hub);
      for (const [method, path] of ROUTES) {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        const body = method === 'POST' ? '{"action":"ping","method":"ping"}' : undefined;
        const { status } = await http(`http://127.0.0.1:${hub.port}`, path, { method, headers, body });
        assert.equal(status === 404, args.length === 0, `${path} ${args}: ${status}`);
      }
      await hub.end();
    }
  } finally {
    await home.cleanup();
  }
});
