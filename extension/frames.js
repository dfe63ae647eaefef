// @ts-check
// Frames of other extensions inside a page keep our debugger out of it. With a permission that the
// person gives in the popup, and only then, they are taken from the page.
import { FRAMES_PERMISSION } from './permissions.js';

/** @param {{tabId: number}} params */
export async function freeFrames({ tabId }) {
  if (!await chrome.permissions.contains(/** @type {any} */ (FRAMES_PERMISSION))) {
    throw new Error('Frames of other extensions keep the debugger out of this page. The person can let Bowline remove them: "Remove frames of other extensions" in its popup.');
  }
  const func = /** @type {() => void} */ (/** @type {unknown} */ (removeForeignFrames));
  /** @type {{result?: unknown}[]} */
  const results = await chrome.scripting.executeScript({ target: { tabId, allFrames: true }, func, args: [location.origin] });
  return { removed: results.reduce((sum, { result }) => sum + (Number(result) || 0), 0) };
}

/**
 * Runs in the page, where nothing of this module is there.
 * @param {string} own
 */
function removeForeignFrames(own) {
  let removed = 0;
  /** @param {ParentNode} root */
  const sweep = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (/^i?frame$/i.test(element.localName)) {
        const src = /** @type {HTMLIFrameElement} */ (element).src;
        if (/^(chrome|moz)-extension:/.test(src) && !src.startsWith(`${own}/`)) {
          element.remove();
          removed++;
        }
        continue;
      }
      // Extensions like to hide behind closed shadow roots.
      const shadow = element instanceof HTMLElement ? chrome.dom.openOrClosedShadowRoot(element) : null;
      if (shadow) sweep(/** @type {ShadowRoot} */ (shadow));
    }
  };
  sweep(document);
  return removed;
}
