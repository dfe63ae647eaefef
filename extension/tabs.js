// @ts-check
// The tabs of this browser as the hub sees them: Tab objects with Chrome's real target ids, and their
// events, told one after the other and only after the state that they change.
import { attached, moveAttachment } from './debuggers.js';
import { isOwn } from './own.js';
import { isLive, tell } from './relay.js';

/**
 * @typedef {object} Tab
 * @property {number} tabId
 * @property {string} targetId '' while Chrome has none
 * @property {string} url
 * @property {string} title
 * @property {number} windowId
 * @property {number} index
 * @property {boolean} active
 * @property {string} status
 * @property {boolean} discarded
 * @property {boolean} frozen
 * @property {boolean} incognito
 * @property {number} [openerTabId]
 * @property {boolean} attached
 * @property {boolean} chosen
 */

/** What the hub knows of: the tabs told, with the target ids told. @type {Map<number, string>} */
const known = new Map();
/** The active tab of each window, to tell the one that no longer is. @type {Map<number, number>} */
const activeIn = new Map();
/** Who opened a tab and with which address, until the tab is told. @type {Map<number, {tabId: number, url: string}>} */
const openers = new Map();

/** Tabs that the person attached in the popup. @type {Set<number>} */
let chosen = new Set();
/** They outlive the worker but not the browser, as tab ids do. */
export const ready = chrome.storage.session.get('chosen').then((stored) => {
  chosen = new Set(Array.isArray(stored.chosen) ? stored.chosen : []);
});

/** Work on tab events is done in order, also where it asks Chrome something in between. */
let tail = Promise.resolve();
/** @param {() => Promise<void> | void} work */
export function inOrder(work) {
  tail = tail.then(work).catch(() => {});
  return tail;
}

/** Chrome's target id of every tab. */
export async function readTargets() {
  /** @type {Map<number, string>} */
  const targets = new Map();
  for (const { tabId, id, type, attached: taken } of await chrome.debugger.getTargets()) {
    if (tabId !== undefined && type === 'page' && (taken || !targets.has(tabId))) targets.set(tabId, id);
  }
  return targets;
}

/**
 * @param {chrome.tabs.Tab} tab
 * @param {string} targetId
 * @returns {Tab}
 */
function describe(tab, targetId) {
  const tabId = /** @type {number} */ (tab.id);
  return {
    tabId,
    targetId,
    url: tab.url || tab.pendingUrl || '',
    title: tab.title ?? '',
    windowId: tab.windowId,
    index: tab.index,
    active: tab.active,
    status: tab.status ?? 'complete',
    discarded: tab.discarded,
    frozen: tab.frozen ?? false,
    incognito: tab.incognito,
    ...(tab.openerTabId !== undefined && { openerTabId: tab.openerTabId }),
    attached: attached.has(tabId),
    chosen: chosen.has(tabId),
  };
}

/** Every tab of the windows that people browse in; a page's own popup windows are such, too. */
export async function listTabs() {
  const [normal, popups, targets] = await Promise.all([
    chrome.tabs.query({ windowType: 'normal' }), chrome.tabs.query({ windowType: 'popup' }), readTargets(),
  ]);
  return [...normal, ...popups].filter(isTold).map((tab) => describe(tab, targets.get(/** @type {number} */ (tab.id)) ?? ''));
}

/** @param {number} tabId */
export async function describeTab(tabId) {
  const [tab, targets] = await Promise.all([chrome.tabs.get(tabId), readTargets()]);
  return describe(tab, targets.get(tabId) ?? '');
}

/** @param {chrome.tabs.Tab} tab */
const isTold = (tab) => tab.id !== undefined && tab.id !== chrome.tabs.TAB_ID_NONE && !tab.url?.startsWith('devtools:') && !isOwn(tab.url || tab.pendingUrl);

/** All tabs, to be told as the state: what happens from now on is told as events. */
export async function tabsOfState() {
  await ready;
  const tabs = await listTabs();
  known.clear();
  activeIn.clear();
  for (const { tabId, targetId, windowId, active } of tabs) {
    known.set(tabId, targetId);
    if (active) activeIn.set(windowId, tabId);
  }
  return tabs;
}

/**
 * @param {number} tabId
 * @param {boolean} on
 */
export function choose(tabId, on) {
  if (on) chosen.add(tabId);
  else chosen.delete(tabId);
  void chrome.storage.session.set({ chosen: [...chosen] });
  return inOrder(() => update(tabId, { chosen: on }));
}

/** @param {number} tabId @param {object} change */
function update(tabId, change) {
  if (isLive() && known.has(tabId)) tell('tabUpdated', { tabId, ...change });
}

/** @param {chrome.tabs.Tab} tab */
async function isInBrowsingWindow(tab) {
  const { type } = await chrome.windows.get(tab.windowId);
  return type === 'normal' || type === 'popup';
}

/** @param {chrome.tabs.Tab} tab */
export function onCreated(tab) {
  void inOrder(async () => {
    if (!isLive() || !isTold(tab)) return;
    const [targets, ours] = await Promise.all([readTargets(), isInBrowsingWindow(tab)]);
    if (!ours || !isLive()) return;
    const told = describe(tab, targets.get(/** @type {number} */ (tab.id)) ?? '');
    const opener = openers.get(told.tabId);
    openers.delete(told.tabId);
    known.set(told.tabId, told.targetId);
    tell('tabCreated', { ...told, ...(opener && { opener }) });
  });
}

/** Comes with the tab's creation, in the same moment. @param {{sourceTabId: number, tabId: number, url: string}} details */
export function onCreatedNavigationTarget({ sourceTabId, tabId, url }) {
  if (!known.has(tabId)) openers.set(tabId, { tabId: sourceTabId, url });
}

const TOLD = /** @type {const} */ (['url', 'title', 'status', 'discarded', 'frozen']);

/** @param {number} tabId @param {{[name: string]: unknown}} info */
export function onUpdated(tabId, info) {
  /** @type {Record<string, unknown>} */
  const change = {};
  for (const name of TOLD) if (info[name] !== undefined) change[name] = info[name];
  if (Object.keys(change).length === 0) return;
  void inOrder(() => update(tabId, change));
  if (info.status || info.discarded !== undefined) checkTargets();
}

/** @param {number} tabId @param {{windowId: number}} info */
export function onRemoved(tabId, { windowId }) {
  openers.delete(tabId);
  if (chosen.delete(tabId)) void chrome.storage.session.set({ chosen: [...chosen] });
  void inOrder(() => {
    if (activeIn.get(windowId) === tabId) activeIn.delete(windowId);
    if (known.delete(tabId) && isLive()) tell('tabRemoved', { tabId });
  });
}

/** @param {number} tabId the new one @param {number} replaced */
export function onReplaced(tabId, replaced) {
  if (chosen.delete(replaced)) {
    chosen.add(tabId);
    void chrome.storage.session.set({ chosen: [...chosen] });
  }
  moveAttachment(replaced, tabId);
  void inOrder(async () => {
    const targetId = (await readTargets()).get(tabId) ?? '';
    for (const [windowId, active] of activeIn) if (active === replaced) activeIn.set(windowId, tabId);
    if (!known.delete(replaced) || !isLive()) return;
    known.set(tabId, targetId);
    tell('tabReplaced', { tabId, replaced, targetId });
  });
}

/** @param {{tabId: number, windowId: number}} info */
export function onActivated({ tabId, windowId }) {
  void inOrder(() => {
    const before = activeIn.get(windowId);
    if (before === tabId) return;
    activeIn.set(windowId, tabId);
    if (before !== undefined) update(before, { active: false });
    update(tabId, { active: true });
  });
}

/** @param {number} tabId @param {{windowId: number, toIndex: number}} info */
export function onMoved(tabId, { windowId, toIndex }) {
  void inOrder(() => update(tabId, { windowId, index: toIndex }));
}

/** Into another window. @param {number} tabId @param {{newWindowId: number, newPosition: number}} info */
export function onAttached(tabId, { newWindowId, newPosition }) {
  void inOrder(() => update(tabId, { windowId: newWindowId, index: newPosition }));
}

let checking = false;

/**
 * A tab gets another target when a prerendered page takes its place, and Chrome tells nobody. Several
 * changes in a row are one look.
 */
function checkTargets() {
  if (checking || !isLive()) return;
  checking = true;
  setTimeout(() => void inOrder(async () => {
    checking = false;
    const targets = await readTargets();
    for (const [tabId, told] of known) {
      const targetId = targets.get(tabId);
      if (targetId === undefined || targetId === told) continue;
      known.set(tabId, targetId);
      update(tabId, { targetId });
    }
  }), 30);
}
