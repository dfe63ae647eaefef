// @ts-check
// How a person writes origins and the hub's address: pure text, nothing of Chrome.

const HOST = /^(\*\.)?([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/;
const IPV6 = /^\[[0-9a-f:.]+\]$/;

/**
 * One entry of an allow or deny list, in its normal form; undefined if it is none.
 * @param {string} text
 * @returns {string | undefined}
 */
export function parseOrigin(text) {
  const match = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\[[^\]]*\]|[^/:[\]@?#%\\]+)(?::(\d{1,5}))?\/?$/i.exec(text.trim());
  if (!match) return undefined;
  const scheme = match[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'http' && scheme !== 'https') return undefined;
  const host = asciiHost(match[2]);
  if (host === undefined) return undefined;
  const port = match[3] === undefined ? undefined : Number(match[3]);
  if (port !== undefined && (port < 1 || port > 65535)) return undefined;
  return (scheme ? `${scheme}://` : '') + host + (port === undefined ? '' : `:${port}`);
}

/**
 * Pages know a host by its ASCII name only, so that is what the lists hold.
 * @param {string} text
 */
function asciiHost(text) {
  const wild = text.startsWith('*.');
  let host = wild ? text.slice(2) : text;
  try {
    host = new URL(`http://${host}/`).hostname;
  } catch {
    return undefined;
  }
  if (wild && !/[a-z]/.test(host)) return undefined;
  if (!HOST.test(host) && !IPV6.test(host)) return undefined;
  return wild ? `*.${host}` : host;
}

/**
 * A list as the person typed it, one entry per line or separated by commas.
 * @param {string} text
 * @returns {{origins: string[], wrong: string[]}}
 */
export function parseOrigins(text) {
  const origins = new Set();
  const wrong = [];
  for (const entry of text.split(/[\s,]+/).filter(Boolean)) {
    const origin = parseOrigin(entry);
    if (origin === undefined) wrong.push(entry);
    else origins.add(origin);
  }
  return { origins: [...origins], wrong };
}

/**
 * The hub's address in its normal form. Only this computer is taken: what is said to the hub is
 * everything in the browser, and it is said in clear.
 * @param {string} text
 * @returns {string | undefined}
 */
export function parseHub(text) {
  let url;
  try {
    url = new URL(/^[a-z]+:\/\//i.test(text.trim()) ? text.trim() : `http://${text.trim()}`);
  } catch {
    return undefined;
  }
  if (!['http:', 'ws:'].includes(url.protocol)) return undefined;
  if (!['127.0.0.1', 'localhost'].includes(url.hostname)) return undefined;
  if (url.username || url.password || (url.pathname !== '/' && url.pathname !== '') || url.search || url.hash) return undefined;
  return `http://127.0.0.1:${url.port || 80}`;
}
