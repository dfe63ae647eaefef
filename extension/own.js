// @ts-check
// This extension's own pages: who drove one could change the policy and read the key, so no debugger
// of ours is ever on one, and none is led to one.

/** @param {string | undefined} url */
export function isOwn(url) {
  // Almost every address ends here; the parser sees what a browser would see in the others.
  if (url === undefined || /^\s*(https?|about|file|data|chrome):/i.test(url)) return false;
  try {
    const { protocol, host } = new URL(url);
    const own = new URL(chrome.runtime.getURL(''));
    return protocol === own.protocol && host === own.host;
  } catch {
    return false;
  }
}

export const OWN_REFUSED = 'The pages of Bowline itself are closed to agents.';
