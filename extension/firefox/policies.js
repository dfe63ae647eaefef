// @ts-check
// Which documents let scripts be made of text, known from their headers while there is a session: to try would be reported to the
// site. What is not known is taken for a no.
import { canHold, firefox } from './api.js';

/** Documents that were loaded with a policy that leaves `eval` alone, or none, by tab and frame. @type {Map<string, {url: string, may: boolean}>} */
const known = new Map();
let watching = false;

/** @param {boolean} now */
export function watch(now) {
  if (now === watching || !canHold) return;
  watching = now;
  if (now) {
    firefox.webRequest.onHeadersReceived.addListener(onHeaders, { urls: ['<all_urls>'], types: ['main_frame', 'sub_frame'] }, ['responseHeaders']);
    firefox.tabs.onRemoved.addListener(onRemoved);
  } else {
    firefox.webRequest.onHeadersReceived.removeListener(onHeaders);
    firefox.tabs.onRemoved.removeListener(onRemoved);
    known.clear();
  }
}

/** @param {any} details */
function onHeaders({ tabId, frameId, url, responseHeaders }) {
  // Also in its form that only reports: a report is what must not be.
  const may = !responseHeaders.some((/** @type {any} */ { name }) => /^content-security-policy/i.test(name));
  known.set(`${tabId} ${frameId}`, { url: withoutHash(url), may });
}

/** @param {number} tabId */
function onRemoved(tabId) {
  for (const name of known.keys()) if (name.startsWith(`${tabId} `)) known.delete(name);
}

/** @param {string} url */
const withoutHash = (url) => String(url).split('#')[0];

/** @param {number} tabId @param {number} frameId @param {string} url of the document that asks */
export function mayEval(tabId, frameId, url) {
  const found = known.get(`${tabId} ${frameId}`);
  return found !== undefined && found.may && found.url === withoutHash(url);
}
