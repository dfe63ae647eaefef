// @ts-check
// What the popup is shown and what the person may ask in it. The popup keeps nothing: it gets the whole
// view whenever something changes, as long as it is open.
import { pairNatively } from './native.js';
import { parseHub } from './origins.js';
import { again, confirmPairing, status, tell, watch } from './relay.js';
import { isOwn } from './own.js';
import { changeHub, changeKey, changePolicy, ready, settings } from './settings.js';

/**
 * @typedef {object} View
 * @property {import('./relay.js').Status} status
 * @property {string} hub
 * @property {boolean} paired
 * @property {import('./settings.js').Policy} policy
 * @property {(import('./tabs.js').Tab & {clients: string[]})[]} tabs
 */

/**
 * What differs between browsers: how tabs are listed, opened to agents and taken from them.
 * @typedef {object} Hands
 * @property {Promise<unknown>} ready
 * @property {() => Promise<import('./tabs.js').Tab[]>} listTabs
 * @property {(tabId: number, on: boolean) => Promise<void>} choose
 * @property {(tabId: number, reason: 'by_user') => Promise<void>} take
 * @property {() => Iterable<number>} attached
 * @property {() => Promise<void>} resume
 */

const SHOW_DELAY = 50;

/** @type {Hands} */
let hands;
/** @param {Hands} given */
export function begin(given) {
  hands = given;
}

/** @type {Set<chrome.runtime.Port>} */
const ports = new Set();
/** @type {Map<number, string[]>} */
let clients = new Map();
let planned = false;
/** The popup asked for the permission that pairing with one click needs, and may be closed by the question. */
let nativeWanted = false;

/** @param {Map<number, string[]>} drivers */
export function showDrivers(drivers) {
  clients = drivers;
  refresh();
}

/** Shows the popup what is new; several changes in a row are one. */
export function refresh() {
  if (planned || ports.size === 0) return;
  planned = true;
  setTimeout(async () => {
    planned = false;
    const view = await makeView();
    for (const port of ports) port.postMessage({ view });
  }, SHOW_DELAY);
}

/** @returns {Promise<View>} */
async function makeView() {
  await Promise.all([ready, hands.ready]);
  const tabs = (await hands.listTabs()).map((tab) => ({ ...tab, clients: clients.get(tab.tabId) ?? [] }));
  return { status, hub: settings.hub, paired: settings.key !== '', policy: settings.policy, tabs };
}

/** @param {chrome.runtime.Port} port */
export function onConnect(port) {
  // A content script has the id, too; only our own pages have our address.
  if (port.name !== 'popup' || port.sender?.id !== chrome.runtime.id || !isOwn(port.sender?.url)) return;
  ports.add(port);
  watch(true);
  port.onDisconnect.addListener(() => {
    ports.delete(port);
    watch(ports.size > 0);
  });
  port.onMessage.addListener((request) => {
    WISHES[request.wish]?.(request).catch((/** @type {Error} */ error) => port.postMessage({ error: error.message })).finally(refresh);
  });
  refresh();
}

export function onPermissionAdded() {
  if (nativeWanted) void WISHES.pairNatively({}).catch(() => {}).finally(refresh);
}

/** @type {Record<string, (request: any) => Promise<void>>} */
const WISHES = {
  async confirm() {
    confirmPairing();
  },

  async retry() {
    again();
  },

  async forget() {
    await changeKey('');
    again();
  },

  async wantNative() {
    nativeWanted = true;
  },

  async pairNatively() {
    nativeWanted = false;
    await pairNatively();
    again();
  },

  async hub({ hub }) {
    const address = parseHub(hub);
    if (address === undefined) throw new Error('The hub is always on this computer: http://127.0.0.1:PORT');
    await changeHub(address);
    again();
  },

  async policy({ change }) {
    await changePolicy(change);
    tell('policy', settings.policy);
  },

  async choose({ tabId, on }) {
    await hands.choose(tabId, on);
    if (!on) await hands.take(tabId, 'by_user');
  },

  async detach({ tabId }) {
    await hands.take(tabId, 'by_user');
  },

  async detachAll() {
    await Promise.all([...hands.attached()].map((tabId) => hands.take(tabId, 'by_user')));
  },

  async resume() {
    await hands.resume();
  },
};
