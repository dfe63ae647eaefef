// @ts-check
// The tabs that the person has opened to agents in the popup, for the manual mode. They outlive the background, not the browser.
import { tell } from '../relay.js';
import { isOwn } from '../own.js';
import { firefox } from './api.js';
import { contextOf } from './names.js';

/** @type {Set<number>} */
let chosen = new Set();
export const ready = firefox.storage.session.get('chosen').then((/** @type {any} */ stored) => {
  chosen = new Set(Array.isArray(stored.chosen) ? stored.chosen : []);
});

/** @param {number} tabId */
export const isChosen = (tabId) => chosen.has(tabId);

/** @param {number} tabId @param {boolean} on */
export async function choose(tabId, on) {
  if (on) chosen.add(tabId);
  else chosen.delete(tabId);
  tell('bidiEvent', { method: 'bowline.chosen', params: { context: contextOf(tabId), chosen: on } });
  await firefox.storage.session.set({ chosen: [...chosen] });
}

/** @param {number} tabId */
export function onRemoved(tabId) {
  if (chosen.delete(tabId)) void firefox.storage.session.set({ chosen: [...chosen] });
}

/** The tabs for the popup. @returns {Promise<import('../tabs.js').Tab[]>} */
export async function listTabs() {
  const tabs = await firefox.tabs.query({});
  return tabs.filter((/** @type {any} */ { url }) => !isOwn(url)).map((/** @type {any} */ tab) => ({
    tabId: tab.id, targetId: contextOf(tab.id), url: tab.url ?? '', title: tab.title ?? '', windowId: tab.windowId, index: tab.index, active: tab.active,
    status: tab.status ?? 'complete', discarded: tab.discarded, frozen: false, incognito: tab.incognito, attached: false, chosen: chosen.has(tab.id),
  }));
}
