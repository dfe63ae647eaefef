// @ts-check
// Requests of content scripts pass by the rules of the page that they are in, as far as the extension may go itself. The hub's own
// scripts make none. Scripts of its clients could, so once one of them has run beside a page, such requests are refused, all of them:
// Firefox does not tell whose they are.
import { settings } from '../settings.js';
import { canHold, firefox } from './api.js';

/** The sandboxes of the hub itself, which lets no client use these names. */
const OWN = /^bowline(-|$)/;

let isUp = false;

/** A script comes into a sandbox. @param {string | undefined} sandbox */
export function meet(sandbox) {
  if (sandbox === undefined || OWN.test(sandbox) || isUp || !canHold) return;
  isUp = true;
  firefox.webRequest.onBeforeRequest.addListener(refuse, { urls: ['<all_urls>'], types: ['xmlhttprequest'], tabId: -1 }, ['blocking']);
}

export function end() {
  if (isUp) firefox.webRequest.onBeforeRequest.removeListener(refuse);
  isUp = false;
}

/** Requests of pages, of workers and of other extensions' own pages have an origin. Ours that a dialog waits for goes nowhere anyway. @param {any} details */
function refuse({ url, originUrl, documentUrl }) {
  return { cancel: originUrl === undefined && documentUrl === undefined && !url.startsWith(`${settings.hub}/prompt-`) };
}
