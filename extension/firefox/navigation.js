// @ts-check
// Where contexts go, by the hub's word and by their own: webNavigation's news in BiDi's words.
import { isOwn, OWN_REFUSED } from '../own.js';
import { firefox, invalid, Refusal, unsupported } from './api.js';
import { dropChildren, ensureFrame, frameAt, living, livingTab, moved } from './contexts.js';
import { ask } from './links.js';
import { contextOf, placeOf, userContextOf } from './names.js';
import { emit, hasSession } from './session.js';

/** For a navigation that was asked for to begin: Firefox may find that there is nothing to do. */
const START_PATIENCE = 2_000;

/**
 * A page that moves to another process is aborted in the first one and begun anew in the second: that is one navigation. What is
 * not begun anew within this time has come to its end.
 */
const SWITCH_PATIENCE = 1_000;
/** Aborted, and perhaps begun anew, by contexts. @type {Map<string, {end: () => void}>} */
const aborted = new Map();

/** Ids for navigations that the hub has asked for, until they begin. @type {Map<string, string>} */
const expected = new Map();
/** Who waits for a step of a context. @type {Set<(step: Step) => void>} */
const waiting = new Set();

/** @typedef {{kind: 'started' | 'committed' | 'interactive' | 'complete' | 'failed' | 'moved', context: string, navigation: string | null, url: string, message?: string}} Step */

/** The id of a navigation whose request is seen before it is said to have begun. @param {number} tabId @param {number} frameId */
export function navigationOf(tabId, frameId) {
  const context = contextOf(tabId, frameId);
  const now = frameAt(tabId, frameId)?.navigation ?? expected.get(context);
  if (now) return now;
  const id = crypto.randomUUID();
  expected.set(context, id);
  return id;
}

/** @param {Step} step */
function note(step) {
  for (const listener of [...waiting]) listener(step);
}

/** @param {string} name @param {any} details @param {string | null} navigation @param {object} [more] */
function tell(name, { tabId, frameId, url }, navigation, more = {}) {
  const context = contextOf(tabId, frameId);
  emit(`browsingContext.${name}`, context, () => ({ context, navigation, timestamp: Date.now(), url, userContext: userContextOf(undefined), ...more }));
}

/** The empty page that a tab or frame is born with: nobody has gone there. @param {any} frame @param {string} url @param {string} context */
function isBirth(frame, url, context) {
  if (url !== 'about:blank' || expected.has(context)) frame.isBorn = true;
  return !frame.isBorn;
}

/** @param {any} details */
export function onBeforeNavigate(details) {
  if (!hasSession()) return;
  const { tabId, frameId, parentFrameId, url } = details;
  ensureFrame(tabId, frameId, parentFrameId, 'about:blank');
  const frame = frameAt(tabId, frameId);
  if (!frame || isOwn(url)) return;
  const context = contextOf(tabId, frameId);
  if (isBirth(frame, url, context)) return;
  const before = aborted.get(context);
  // After a redirect it goes on at another address.
  if (before && !expected.has(context)) {
    aborted.delete(context);
    frame.target = url;
    return;
  }
  // Begun in the second process before it was aborted in the first.
  if (frame.navigation !== null && frame.target === url && !expected.has(context)) return;
  before?.end();
  frame.target = url;
  frame.hasFailed = false;
  frame.isLoaded = false;
  frame.navigation = expected.get(context) ?? crypto.randomUUID();
  expected.delete(context);
  tell('navigationStarted', details, frame.navigation);
  note({ kind: 'started', context, navigation: frame.navigation, url });
}

/** @param {any} details */
export function onCommitted(details) {
  if (!hasSession()) return;
  const { tabId, frameId, parentFrameId, url } = details;
  ensureFrame(tabId, frameId, parentFrameId ?? 0, url);
  const frame = frameAt(tabId, frameId);
  if (!frame) return;
  dropChildren(tabId, frameId);
  moved(tabId, frameId, url);
  frame.documentId = details.documentId;
  if (isOwn(url) || isBirth(frame, url, contextOf(tabId, frameId))) return;
  // The page of the failure that has been told.
  if (frame.hasFailed && frame.navigation === null) return;
  aborted.delete(contextOf(tabId, frameId));
  frame.target = undefined;
  frame.navigation ??= crypto.randomUUID();
  tell('navigationCommitted', details, frame.navigation);
  note({ kind: 'committed', context: contextOf(tabId, frameId), navigation: frame.navigation, url });
}

/** @param {'domContentLoaded' | 'load'} name @param {'interactive' | 'complete'} kind */
const loaded = (name, kind) => (/** @type {any} */ details) => {
  const frame = frameAt(details.tabId, details.frameId);
  if (!frame || isOwn(details.url)) return;
  if (kind === 'complete') frame.isLoaded = true;
  if (isBirth(frame, details.url, contextOf(details.tabId, details.frameId))) return;
  if (isErrorPage(details.url)) return failed(details, frame);
  tell(name, details, frame.navigation);
  note({ kind, context: contextOf(details.tabId, details.frameId), navigation: frame.navigation, url: details.url });
  if (kind === 'complete') frame.navigation = null;
};
export const onDOMContentLoaded = loaded('domContentLoaded', 'interactive');
export const onCompleted = loaded('load', 'complete');

/** What Firefox shows in the place of a page that did not come. @param {string} url */
const isErrorPage = (url) => /^about:(neterror|certerror|blocked|httpsonlyerror)\b/.test(url);

/** Some failures are seen by this page alone, as those of ports that Firefox does not go to. @param {any} details @param {any} frame */
function failed({ tabId, frameId, url: shown }, frame) {
  if (frame.hasFailed) return;
  frame.hasFailed = true;
  const context = contextOf(tabId, frameId);
  const navigation = expected.get(context) ?? frame.navigation;
  expected.delete(context);
  const told = new URLSearchParams(shown.slice(shown.indexOf('?')));
  const message = told.get('e') ?? 'the navigation failed';
  const url = told.get('u') ?? frame.url;
  tell('navigationFailed', { tabId, frameId, url }, navigation, { message });
  note({ kind: 'failed', context, navigation, url, message });
  frame.navigation = null;
}

/** What Firefox's numbers mean. @type {Record<string, string>} */
const ERRORS = {
  2152398850: 'NS_BINDING_ABORTED', 2152398858: 'NS_ERROR_MALFORMED_URI', 2152398861: 'NS_ERROR_CONNECTION_REFUSED', 2152398862: 'NS_ERROR_NET_TIMEOUT', 2152398864: 'NS_ERROR_OFFLINE',
  2152398867: 'NS_ERROR_PORT_ACCESS_NOT_ALLOWED', 2152398868: 'NS_ERROR_NET_RESET', 2152398878: 'NS_ERROR_UNKNOWN_HOST', 2152398919: 'NS_ERROR_NET_INTERRUPT', 2152398866: 'NS_ERROR_UNKNOWN_PROTOCOL',
};

/** @param {any} details */
export function onErrorOccurred(details) {
  const { tabId, frameId, url } = details;
  const frame = frameAt(tabId, frameId);
  if (!frame) return;
  const context = contextOf(tabId, frameId);
  const number = /^Error code (\d+)$/.exec(String(details.error))?.[1] ?? '';
  const message = ERRORS[number] ?? String(details.error ?? 'the navigation failed');
  const { navigation } = frame;
  const isAborted = message === 'NS_BINDING_ABORTED';
  const end = () => {
    aborted.delete(context);
    tell(isAborted ? 'navigationAborted' : 'navigationFailed', details, navigation, { message });
    note({ kind: 'failed', context, navigation, url, message });
    if (frame.navigation === navigation) frame.navigation = null;
  };
  if (!isAborted) {
    frame.hasFailed = true;
    return end();
  }
  aborted.get(context)?.end();
  const wait = { end };
  aborted.set(context, wait);
  setTimeout(() => { if (aborted.get(context) === wait) end(); }, SWITCH_PATIENCE);
  return undefined;
}

/** @param {'fragmentNavigated' | 'historyUpdated'} name */
const stepped = (name) => (/** @type {any} */ details) => {
  const { tabId, frameId, url } = details;
  if (!frameAt(tabId, frameId)) return;
  moved(tabId, frameId, url);
  const context = contextOf(tabId, frameId);
  const navigation = name === 'fragmentNavigated' ? expected.get(context) ?? crypto.randomUUID() : null;
  expected.delete(context);
  tell(name, details, navigation);
  note({ kind: 'moved', context, navigation, url });
};
export const onReferenceFragmentUpdated = stepped('fragmentNavigated');
export const onHistoryStateUpdated = stepped('historyUpdated');

/** Who waits for a tab to come somewhere. @type {Map<(step: Step) => void, {tab: number, reject: () => void}>} */
const following = new Map();

/**
 * Does what leads somewhere, and waits for as much of it as is wanted.
 * @param {string} context
 * @param {'none' | 'interactive' | 'complete'} wait
 * @param {() => Promise<unknown>} go
 * @returns {Promise<{navigation: string | null, url: string}>}
 */
async function follow(context, wait, go) {
  const id = crypto.randomUUID();
  expected.set(context, id);
  /** @type {(step: Step) => void} */
  let listener = () => {};
  const enough = new Promise((resolve, reject) => {
    let begun = false;
    const unmoved = setTimeout(() => { if (!begun) resolve(undefined); }, START_PATIENCE);
    listener = (step) => {
      if (step.context !== context) return;
      begun = true;
      clearTimeout(unmoved);
      if (step.kind === 'failed' && step.navigation === id) reject(new Refusal('unknown error', String(step.message)));
      else if (step.kind === 'moved' || step.kind === wait || (wait === 'none' && step.kind === 'started') || (wait === 'interactive' && step.kind === 'complete')) resolve(step);
    };
    waiting.add(listener);
    following.set(listener, { tab: placeOf(context).tabId, reject: () => reject(new Refusal('no such frame', 'The tab was closed.')) });
  });
  try {
    const [, step] = await Promise.all([go(), enough]);
    return { navigation: id, url: /** @type {any} */ (step)?.url };
  } finally {
    enough.catch(() => {});
    waiting.delete(listener);
    following.delete(listener);
  }
}

/** @param {number} tabId */
export function onRemoved(tabId) {
  for (const [listener, { tab, reject }] of following) if (tab === tabId && waiting.has(listener)) reject();
}

/** @param {unknown} error */
function refused(error) {
  const words = String(/** @type {Error} */ (error).message ?? error);
  if (error instanceof Refusal) return error;
  return /illegal url/i.test(words) ? unsupported(`Firefox lets no extension lead a tab to this address: ${words}`) : new Refusal('unknown error', words);
}

/** Whether pages are fetched anew: of all tabs, and of single ones. */
let isFresh = false;
/** @type {Map<number, boolean>} */
const fresh = new Map();

export function endFreshness() {
  isFresh = false;
  fresh.clear();
}

/** @type {Record<string, (params: any) => Promise<object | void>>} */
export const COMMANDS = {
  /** As far as an extension can: for what is reloaded. */
  async 'network.setCacheBehavior'({ cacheBehavior, contexts }) {
    const wanted = cacheBehavior === 'bypass';
    if (contexts === undefined) isFresh = wanted;
    for (const context of contexts ?? []) fresh.set(livingTab(context, 'The cache').tabId, wanted);
  },

  async 'browsingContext.navigate'({ context, url, wait = 'none' }) {
    const { tabId, frameId } = living(context);
    let address;
    try {
      address = new URL(url, frameAt(tabId, frameId)?.url).href;
    } catch {
      throw invalid(`${url} is not an address.`);
    }
    if (isOwn(address)) throw new Refusal('unknown error', OWN_REFUSED);
    if (/^javascript:/i.test(address)) throw new Refusal('unknown error', 'A script is not an address to go to.');
    const { navigation, url: reached } = await follow(context, wait, () => (frameId === 0
      ? firefox.tabs.update(tabId, { url: address })
      : ask(tabId, frameId, 'leave', { url: address }))).catch((error) => { throw refused(error); });
    return { navigation, url: reached ?? address };
  },

  async 'browsingContext.reload'({ context, wait = 'none', ignoreCache = false }) {
    const { tabId, tab } = livingTab(context, 'Reloading');
    const { navigation, url } = await follow(context, wait, () => firefox.tabs.reload(tabId, { bypassCache: ignoreCache || (fresh.get(tabId) ?? isFresh) }));
    return { navigation, url: url ?? tab.url };
  },

  async 'browsingContext.traverseHistory'({ context, delta }) {
    const { tabId } = livingTab(context, 'Going through the history');
    if (delta === 0) return;
    /** @type {(step: Step) => void} */
    let listener = () => {};
    const going = new Promise((resolve) => {
      listener = (step) => { if (step.context === context && step.kind !== 'interactive' && step.kind !== 'complete') resolve(true); };
      waiting.add(listener);
      setTimeout(() => resolve(false), START_PATIENCE);
    });
    try {
      if (delta === -1) await firefox.tabs.goBack(tabId);
      else if (delta === 1) await firefox.tabs.goForward(tabId);
      else await ask(tabId, 0, 'travel', { delta }).catch(() => {});
      if (!await going) throw new Refusal('no such history entry', `The history has no entry at ${delta}.`);
    } catch (error) {
      throw error instanceof Refusal ? error : new Refusal('no such history entry', `The history has no entry at ${delta}.`);
    } finally {
      waiting.delete(listener);
    }
  },
};
