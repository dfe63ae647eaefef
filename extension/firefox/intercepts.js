// @ts-check
// Requests that are held until the hub says how they go on.
import { invalid, Refusal, unsupported } from './api.js';
import { topOf } from './names.js';

/** @typedef {{phases: Set<string>, patterns: any[], contexts: Set<string> | undefined}} Intercept */

/** @type {Map<string, Intercept>} */
const intercepts = new Map();
/** What waits, by the request's number. @type {Map<string, {phase: string, settle: (answer: object) => void}>} */
const held = new Map();

let changed = () => {};
/** @param {() => void} listener */
export function onChange(listener) {
  changed = listener;
}

export const hasAny = () => intercepts.size > 0;

export function end() {
  intercepts.clear();
  for (const { settle } of [...held.values()]) settle({});
}

/**
 * Told first, then held, if an intercept wants it.
 * @param {string} phase @param {string} requestId @param {any} request @param {(ids: string[]) => void} told
 */
export function hold(phase, requestId, request, told) {
  const ids = [...intercepts].filter(([, one]) => one.phases.has(phase) && (!one.contexts || one.contexts.has(topOf(request.context))) && fits(one.patterns, request.url)).map(([id]) => id);
  if (ids.length === 0) {
    told(ids);
    return undefined;
  }
  const answer = new Promise((resolve) => {
    held.set(requestId, { phase, settle(given) { held.delete(requestId); resolve(given); } });
  });
  told(ids);
  return answer;
}

/** @param {any[]} patterns @param {string} address */
function fits(patterns, address) {
  if (patterns.length === 0) return true;
  const url = new URL(address);
  return patterns.some((pattern) => {
    if (pattern.type === 'string') return URL.canParse(pattern.pattern) && new URL(pattern.pattern).href.split('#')[0] === url.href.split('#')[0];
    /** @type {[string, string][]} */
    const parts = [['protocol', url.protocol.slice(0, -1)], ['hostname', url.hostname], ['port', url.port], ['pathname', url.pathname], ['search', url.search.slice(1)]];
    return parts.every(([name, value]) => pattern[name] === undefined || String(pattern[name]).replace(/^[/?]?/, '') === value.replace(/^[/?]?/, ''));
  });
}

/** @param {string} request @param {string} phase @param {object} answer */
function settle(request, phase, answer) {
  const one = held.get(request);
  if (!one || (phase && one.phase !== phase)) throw new Refusal('no such request', `No request ${request} is held.`);
  one.settle(answer);
}

/** @param {any} header */
const plain = ({ name, value }) => ({ name, value: value.type === 'base64' ? atob(value.value) : value.value });

/** @type {Record<string, (params: any) => Promise<object | void>>} */
export const COMMANDS = {
  async 'network.addIntercept'({ phases, urlPatterns = [], contexts }) {
    if (!Array.isArray(phases) || phases.length === 0) throw invalid('An intercept is to have phases.');
    if (phases.includes('authRequired')) throw unsupported('Passwords are asked of the person in their own Firefox.');
    const id = crypto.randomUUID();
    intercepts.set(id, { phases: new Set(phases), patterns: urlPatterns, contexts: contexts?.length > 0 ? new Set(contexts.map(topOf)) : undefined });
    changed();
    return { intercept: id };
  },

  async 'network.removeIntercept'({ intercept }) {
    if (!intercepts.delete(intercept)) throw new Refusal('no such intercept', `There is no intercept ${intercept}.`);
    changed();
  },

  async 'network.continueRequest'({ request, headers, url, method, body, cookies }) {
    if (url !== undefined || method !== undefined || body !== undefined || cookies !== undefined) throw unsupported('An extension changes a request’s headers only.');
    settle(request, 'beforeRequestSent', headers ? { requestHeaders: headers.map(plain) } : {});
  },

  async 'network.continueResponse'({ request, headers, statusCode, reasonPhrase, cookies }) {
    if (statusCode !== undefined || reasonPhrase !== undefined || cookies !== undefined) throw unsupported('An extension changes an answer’s headers only.');
    settle(request, 'responseStarted', headers ? { responseHeaders: headers.map(plain) } : {});
  },

  async 'network.failRequest'({ request }) {
    settle(request, '', { cancel: true });
  },

  async 'network.provideResponse'() {
    throw unsupported('An extension cannot answer in the place of a server.');
  },
};
