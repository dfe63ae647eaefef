// @ts-check
// The popup: shows the view that the worker sends and hands on what the person wants. It decides nothing.
import '../promises.js';
import { parseHub, parseOrigins } from '../origins.js';
import { FRAMES_PERMISSION } from '../permissions.js';
import { describe, needsPairing } from '../words.js';
import { showTabs } from './tablist.js';

/** @typedef {import('../view.js').View} View */

/** @template {HTMLElement} T @param {string} id @param {new () => T} kind @returns {T} */
function get(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`no ${id}`);
  return found;
}
/** @param {string} id */
const element = (id) => get(id, HTMLElement);
/** @param {string} id */
const button = (id) => get(id, HTMLButtonElement);

/** @type {chrome.runtime.Port} */
let port;
/** @type {View | undefined} */
let view;

function connect() {
  port = /** @type {any} */ (chrome.runtime).connect({ name: 'popup' });
  port.onMessage.addListener((/** @type {{view?: View, error?: string}} */ message) => {
    if (message.view) show(message.view);
    if (message.error !== undefined) complain(message.error);
  });
  // The worker may die at any time; a new one has the same view.
  port.onDisconnect.addListener(() => setTimeout(connect, 100));
}

/** @param {string} name @param {object} [more] */
function wish(name, more = {}) {
  complain('');
  port.postMessage({ wish: name, ...more });
}

/** @param {string} text @param {HTMLElement} [where] */
function complain(text, where = element('problem')) {
  where.textContent = text;
  where.hidden = text === '';
}

/** @param {string} id @param {string | undefined} text */
function put(id, text) {
  const where = element(id);
  where.hidden = !text;
  if (where.textContent !== text) where.textContent = text ?? '';
}

/** @param {View} next */
function show(next) {
  view = next;
  showStatus(next);
  showTabs(next, wish);
  showRules(next);
  document.body.dataset.ready = 'yes';
}

/** @param {View} view */
function showStatus({ status, hub, policy, paired, tabs }) {
  const driven = tabs.filter(({ clients }) => clients.length > 0).length;
  const words = describe(status, { hub, paused: policy.paused, driven });
  element('status').dataset.tone = words.tone;
  element('status').dataset.kind = status.kind;
  put('title', words.title);
  put('text', words.text);
  put('hint', words.hint);
  element('command').hidden = !words.command;
  element('command').querySelector('code')?.replaceChildren(words.command ?? '');
  put('code', status.kind === 'pairing' ? status.code : '');
  button('confirm').hidden = status.kind !== 'pairing' || status.confirmed;
  button('resume').hidden = !policy.paused;
  button('native').hidden = !(status.kind === 'unpaired' || (status.kind === 'looking' && !paired));
  button('forget').hidden = !paired || !needsPairing(status);
  button('retry').hidden = !['looking', 'refused', 'impostor'].includes(status.kind);
}

/** What the person is typing in is left alone. @param {HTMLInputElement | HTMLTextAreaElement} field @param {string} value */
function fill(field, value) {
  if (document.activeElement !== field && field.getAttribute('aria-invalid') !== 'true' && field.value !== value) field.value = value;
}

/** @param {View} view */
function showRules({ policy, hub, paired }) {
  for (const radio of document.querySelectorAll('input[name=mode]')) {
    const choice = /** @type {HTMLInputElement} */ (radio);
    choice.checked = choice.value === policy.mode;
  }
  for (const name of SWITCHES) switchOf(name).checked = policy[name];
  for (const name of LISTS) fill(get(name, HTMLTextAreaElement), policy[name].join('\n'));
  const rules = [policy.allow.length > 0 && `only ${policy.allow.length}`, policy.deny.length > 0 && `${policy.deny.length} denied`].filter(Boolean);
  element('sites-sum').textContent = rules.join(', ') || 'all';
  fill(get('hub', HTMLInputElement), hub);
  element('hub-sum').textContent = hub.replace('http://', '');
  element('paired').hidden = !paired;
}

const SWITCHES = /** @type {const} */ (['readOnly', 'noNewTabs', 'allowCookies', 'allowFiles']);
const LISTS = /** @type {const} */ (['allow', 'deny']);

/** @param {string} name */
const switchOf = (name) => /** @type {HTMLInputElement} */ (document.querySelector(`input[name=${name}]`));

function listen() {
  for (const name of ['confirm', 'resume', 'retry', 'forget']) button(name).addEventListener('click', () => wish(name));
  button('unpair').addEventListener('click', () => wish('forget'));
  button('detach-all').addEventListener('click', () => wish('detachAll'));
  button('copy').addEventListener('click', () => void navigator.clipboard.writeText(element('command').querySelector('code')?.textContent ?? ''));
  button('native').addEventListener('click', () => void pairNatively());
  get('filter', HTMLInputElement).addEventListener('input', () => view && showTabs(view, wish));

  for (const radio of document.querySelectorAll('input[name=mode]')) {
    radio.addEventListener('change', () => wish('policy', { change: { mode: /** @type {HTMLInputElement} */ (radio).value } }));
  }
  for (const name of SWITCHES) switchOf(name).addEventListener('change', () => wish('policy', { change: { [name]: switchOf(name).checked } }));
  for (const name of LISTS) get(name, HTMLTextAreaElement).addEventListener('change', () => changeList(name));
  const frames = get('frames', HTMLInputElement);
  // Only where a debugger is kept out by them, and the manifest has what removing them needs.
  element('frames-switch').hidden = !chrome.runtime.getManifest().optional_permissions?.includes('scripting');
  frames.addEventListener('change', () => void changeFrames(frames));
  void chrome.permissions.contains(/** @type {any} */ (FRAMES_PERMISSION)).then((granted) => { frames.checked = granted; });

  get('hub-form', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault();
    const field = get('hub', HTMLInputElement);
    const hub = parseHub(field.value);
    field.setAttribute('aria-invalid', String(hub === undefined));
    complain(hub === undefined ? 'Write it like http://127.0.0.1:9223.' : '', element('hub-problem'));
    if (hub === undefined) return;
    field.value = hub;
    wish('hub', { hub });
  });
}

/** @param {'allow' | 'deny'} name */
function changeList(name) {
  const field = get(name, HTMLTextAreaElement);
  const { origins, wrong } = parseOrigins(field.value);
  field.setAttribute('aria-invalid', String(wrong.length > 0));
  complain(wrong.length > 0 ? `Not a site: ${wrong.join(', ')}. Nothing is saved yet.` : '', element(`${name}-problem`));
  if (wrong.length > 0) return;
  field.value = origins.join('\n');
  wish('policy', { change: { [name]: origins } });
}

/** Chrome's question may close the popup; the worker then goes on by itself. */
async function pairNatively() {
  wish('wantNative');
  if (await chrome.permissions.request({ permissions: ['nativeMessaging'] })) wish('pairNatively');
}

/** @param {HTMLInputElement} field */
async function changeFrames(field) {
  const permission = /** @type {any} */ (FRAMES_PERMISSION);
  if (field.checked) field.checked = await chrome.permissions.request(permission);
  else field.checked = !await chrome.permissions.remove(permission);
}

element('version').textContent = chrome.runtime.getManifest().version;
listen();
connect();
