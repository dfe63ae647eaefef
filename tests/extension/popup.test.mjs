// The popup: what it shows in each state and what the person can do in it. With POPUP_SHOTS=DIR the
// states are kept as pictures, light and dark.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { Browser } from './lib/browser.mjs';
import { FakeHub, newInstance, newKey } from './lib/hub.mjs';
import { html, Site } from '../e2e/lib/site.mjs';
import { test } from '../e2e/lib/test.mjs';
import { until } from '../e2e/lib/until.mjs';

const SHOTS = process.env.POPUP_SHOTS;
const TITLES = {
  '/mail': 'Inbox (3) – Harbour Mail', '/board': 'Sprint board: rigging', '/docs': 'How to tie a bowline, and why it holds under every load',
  '/shop': 'Rope, 8 mm, 30 m', '/news': 'The morning paper',
};

const key = newKey();
let hub;
let site;
let browser;
let link;
let popup;

before(async () => {
  hub = await FakeHub.start({ key });
  site = await Site.start(Object.fromEntries(Object.entries(TITLES).map(([path, title]) => [path, html(title, '')])));
  browser = await Browser.start({ preset: { hub: hub.address, instance: newInstance(), key } });
  link = await hub.ready();
  for (const path of Object.keys(TITLES)) await link.ask('createTab', { url: site.origin + path });
  popup = await browser.popup();
});

after(async () => {
  await browser?.stop();
  await site?.stop();
  await hub?.stop();
});

/** The popup in both themes, seen from its top or from one of its parts. */
async function shot(name, part = '#status') {
  if (!SHOTS) return;
  await popup.evaluate(`document.activeElement?.blur(); document.querySelector('main').scrollTop += document.querySelector('${part}').getBoundingClientRect().top - 60`);
  await mkdir(SHOTS, { recursive: true });
  for (const value of ['light', 'dark']) {
    await popup.ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }, { name: 'prefers-reduced-motion', value: 'reduce' }] });
    await popup.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
    await popup.screenshot(join(SHOTS, `popup-${name}-${value}.png`));
  }
}

const says = (selector, words) => until(`${words} in ${selector}`, async () => words.test(await popup.text(selector)));
const tabIdOf = async (title) => (await until(title, async () => (await link.ask('listTabs')).tabs.find((tab) => tab.title === title))).tabId;
const policyAfter = async (act) => {
  const seen = link.messages.length;
  await act();
  const message = await until('policy', () => link.messages.slice(seen).find(({ method }) => method === 'policy'));
  return message.params;
};
/** Types into a field and leaves it, as a person does. */
const type = (selector, text) => popup.evaluate(`(() => { const field = document.querySelector('${selector}'); field.value = ${JSON.stringify(text)}; field.dispatchEvent(new Event('input')); field.dispatchEvent(new Event('change')); })()`);

test('connected: who drives which tab, and a tab is taken away', async () => {
  await says('#status', /Connected as chrome[^]*No agent/);
  await shot('connected');
  const driven = [await tabIdOf(TITLES['/mail']), await tabIdOf(TITLES['/board'])];
  for (const tabId of driven) await link.ask('attachTab', { tabId, sessionId: 'a' });
  await link.ask('attachTab', { tabId: await tabIdOf(TITLES['/shop']), sessionId: 'a' });
  link.send('drivers', { tabs: [{ tabId: driven[0], clients: ['playwright', 'claude'] }, { tabId: driven[1], clients: ['puppeteer'] }] });
  await says('#status', /Agents are at work in 2 tabs/);
  await says('#tabs', /playwright, claude · 127/);
  assert.equal(await browser.inWorker('chrome.action.getBadgeText({})'), '2');
  await shot('driven');
  await popup.click(`[data-tab="${driven[1]}"] button`);
  const { params } = await link.message('tabDetached', ({ tabId }) => tabId === driven[1]);
  assert.equal(params.reason, 'by_user');
  link.send('drivers', { tabs: [] });
});

test('rules: every switch and list reaches the hub; what is no site is not saved', async () => {
  for (const name of ['readOnly', 'noNewTabs', 'allowCookies', 'allowFiles']) {
    assert.equal((await policyAfter(() => popup.click(`[name=${name}]`)))[name], true);
  }
  await popup.evaluate('document.querySelector("#sites").open = true');
  const { allow } = await policyAfter(() => type('#allow', 'https://Example.com\n*.knots.example'));
  assert.deepEqual(allow, ['https://example.com', '*.knots.example']);
  await type('#deny', 'bank.example\nnot a site/x');
  await says('#deny-problem', /Not a site: site\/x/);
  await shot('rules', '#rules-title');
  assert.deepEqual((await policyAfter(() => type('#deny', 'bank.example'))).deny, ['bank.example']);
  await policyAfter(() => type('#allow', ''));
  await policyAfter(() => type('#deny', ''));
  for (const name of ['readOnly', 'noNewTabs', 'allowCookies', 'allowFiles']) await policyAfter(() => popup.click(`[name=${name}]`));
  await popup.evaluate('document.querySelector("#sites").open = false');
});

test('manual: the person chooses tabs, and takes them back', async () => {
  assert.equal((await policyAfter(() => popup.click('[name=mode][value=manual]'))).mode, 'manual');
  const tabId = await tabIdOf(TITLES['/docs']);
  await says(`[data-tab="${tabId}"]`, /Attach/);
  await popup.click(`[data-tab="${tabId}"] button`);
  await link.message('tabUpdated', (params) => params.tabId === tabId && params.chosen === true);
  await says(`[data-tab="${tabId}"]`, /Detach/);
  await shot('manual');
  await popup.click(`[data-tab="${tabId}"] button`);
  await link.message('tabUpdated', (params) => params.tabId === tabId && params.chosen === false);
  await policyAfter(() => popup.click('[name=mode][value=auto]'));
});

test('paused: it says so, and goes on', async () => {
  await browser.inWorker(`chrome.storage.local.get('policy').then(({ policy }) => chrome.storage.local.set({ policy: { ...policy, paused: true } })).then(() => 1)`);
  await browser.killWorker();
  await says('#status', /Paused/);
  await shot('paused');
  link = await hub.ready(2);
  await popup.click('#resume');
  await link.message('resumed');
  await says('#status', /Connected as chrome/);
});

test('keyboard: every control is reached by Tab and shows the focus', async () => {
  const press = (type) => popup.ask('Input.dispatchKeyEvent', { type, key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 });
  const seen = new Set();
  await popup.evaluate('document.activeElement?.blur()');
  for (let i = 0; i < 30; i++) {
    await press('keyDown');
    await press('keyUp');
    seen.add(await popup.evaluate(`(() => {
      const at = document.activeElement;
      const shown = at.matches('.choice input') ? at.nextElementSibling : at;
      return at === document.body ? '' : (at.id || at.name || at.textContent.trim().split(' ')[0]) + (getComputedStyle(shown).outlineStyle === 'none' ? ' without focus ring' : '');
    })()`));
  }
  for (const name of ['mode', 'readOnly', 'noNewTabs', 'allowCookies', 'allowFiles', 'frames', 'Sites', 'Hub']) assert.ok(seen.has(name), `${name} in ${[...seen]}`);
  assert.ok(![...seen].some((name) => name.includes('without')), [...seen].join());
});

test('the hub’s address is changed, on this computer only', async () => {
  await popup.evaluate('document.querySelector("#connection").open = true');
  const save = async (text) => { await type('#hub', text); await popup.evaluate('document.querySelector("#hub-form").requestSubmit()'); };
  await save('http://example.com:9223');
  await says('#hub-problem', /Write it like/);
  const other = await FakeHub.start({ key, name: 'other' });
  await save(other.address);
  await says('#status', /Connected as other/);
  await save(hub.address);
  await says('#status', /Connected as chrome/);
  await other.stop();
  await popup.evaluate('document.querySelector("#connection").open = false');
});

test('200 tabs: the list scrolls, and the filter finds one', { timeout: 90_000 }, async () => {
  await browser.inWorker(`Promise.all(Array.from({ length: 195 }, (_, i) => chrome.tabs.create({ url: 'about:blank#' + i, active: false }))).then(() => 1)`);
  await until('all tabs', async () => await popup.evaluate('document.querySelectorAll("#tabs li").length') >= 200, 60_000);
  assert.ok(await popup.evaluate('document.querySelector("#tabs").scrollHeight > 5000 && document.querySelector("#tabs").clientHeight < 300'));
  await shot('many');
  await type('#filter', 'rope');
  assert.equal(await popup.evaluate('document.querySelectorAll("#tabs li").length'), 1);
  await type('#filter', '');
  await browser.inWorker(`chrome.tabs.query({}).then((tabs) => chrome.tabs.remove(tabs.filter(({ url }) => url.startsWith('about:blank#')).map(({ id }) => id))).then(() => 1)`);
});

test('refused, versions, impostor, nobody, pairing: each says what and why', async () => {
  const { address: hubAddress, port } = hub;
  const drop = () => { for (const { socket } of hub.links) socket.terminate(); };
  hub.greet = (one) => hub.refuse(one, 'protocol_version', 'The hub (0.4.0) speaks protocol 2, this extension (0.1.0) protocol 1.', 'Update the extension, which is older: bowline extension install');
  drop();
  await says('#status', /The versions differ/);
  await shot('versions');
  hub.greet = (one) => hub.refuse(one, 'unknown_instance', 'The hub has no key for this browser.', 'Pair it again.');
  await says('#status', /forgotten/);
  await shot('refused');
  hub.greet = (one, hello) => hub.welcome(one, hello, { key: newKey() }).catch(() => {});
  await says('#status', /Something else answers/);
  assert.equal(await browser.inWorker('chrome.action.getBadgeText({})'), '!');
  await shot('impostor');
  await popup.click('#forget');
  hub.greet = (one) => hub.refuse(one, 'not_paired', 'No pairing is open.');
  await says('#status', /Not paired/);
  await shot('unpaired');
  hub.greet = (one, hello) => hub.pair(one, hello);
  await says('#code', /\d{3} \d{3}/);
  await shot('pairing');
  await popup.click('#confirm');
  await says('#status', /Now say yes/);
  await hub.stop();
  await says('#status', /Looking for the hub/);
  assert.ok((await popup.text('#status')).includes(hubAddress.replace('http://', '')));
  await shot('looking');
  hub = await FakeHub.start({ key, port });
});
