// @ts-check
// The ids of contexts: made of Firefox's numbers of tabs and frames, which live as long as these do.
import { Refusal } from './api.js';

/** @typedef {{tabId: number, frameId: number}} Place */

/** @param {number} tabId @param {number} [frameId] */
export const contextOf = (tabId, frameId = 0) => (frameId === 0 ? `tab-${tabId}` : `frame-${tabId}-${frameId}`);

/** @param {unknown} context @returns {Place} */
export function placeOf(context) {
  const found = /^(?:tab-(\d+)|frame-(\d+)-(\d+))$/.exec(String(context));
  if (!found) throw new Refusal('no such frame', `There is no context ${context}.`);
  return found[1] !== undefined ? { tabId: Number(found[1]), frameId: 0 } : { tabId: Number(found[2]), frameId: Number(found[3]) };
}

/** The tab that a context is in. @param {string} context */
export const topOf = (context) => contextOf(placeOf(context).tabId);

/** @param {string | undefined} store Firefox's word for a container */
export const userContextOf = (store) => (store === undefined || store === 'firefox-default' ? 'default' : store);
/** @param {string} userContext */
export const storeOf = (userContext) => (userContext === 'default' ? 'firefox-default' : userContext);
