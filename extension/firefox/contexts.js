// @ts-check
// Tabs and frames as contexts: the tree, and the news of it.
import { isOwn, OWN_REFUSED } from '../own.js';
import { settings } from '../settings.js';
import { firefox, invalid, Refusal, unsupported } from './api.js';
import { isChosen } from './chosen.js';
import { inherit, touch } from './driven.js';
import { contextOf, placeOf, storeOf, userContextOf } from './names.js';
import { emit, hasSession, onReplay } from './session.js';

/**
 * @typedef {{parentId: number, url: string, navigation: string | null, target?: string, documentId?: string, isLoaded?: boolean, hasFailed?: boolean, isBorn?: boolean}} Frame
 * `target`: where a navigation leads that has not arrived; `isBorn`: it has been anywhere but at its first, empty page
 * @typedef {{url: string, store: string, opener: number | undefined, windowId: number, incognito: boolean, frames: Map<number, Frame>}} Tab
 */

/** For the empty page of a new tab. */
const BLANK_PATIENCE = 1_000;
/** Frames that come or go within this many milliseconds are looked for together. */
const LOOK_DELAY = 20;

/** What is known while there is a session. @type {Map<number, Tab>} */
const tabs = new Map();

/** All of it, as it is now: at the beginning of a session. */
export async function load() {
  tabs.clear();
  await Promise.all((await firefox.tabs.query({})).map((/** @type {any} */ tab) => plant(tab)));
}

export const forget = () => tabs.clear();

/** @param {any} tab */
async function plant(tab) {
  /** @type {Tab} */
  const known = { url: tab.url ?? '', store: tab.cookieStoreId, opener: tab.openerTabId, windowId: tab.windowId, incognito: tab.incognito, frames: new Map() };
  known.frames.set(0, { parentId: -1, url: known.url, navigation: null, isBorn: true });
  tabs.set(tab.id, known);
  const frames = await firefox.webNavigation.getAllFrames({ tabId: tab.id }).catch(() => null) ?? [];
  for (const { frameId, parentFrameId, url, documentId } of frames) {
    const top = known.frames.get(0);
    if (frameId === 0 && top) top.documentId ??= documentId;
    else if (!known.frames.has(frameId)) known.frames.set(frameId, { parentId: parentFrameId, url, navigation: null, documentId });
  }
}

/** @param {number} tabId @param {number} frameId */
export const frameAt = (tabId, frameId) => tabs.get(tabId)?.frames.get(frameId);

/** Where a context is that commands may go to. @param {unknown} context */
export function living(context) {
  const place = placeOf(context);
  const tab = tabs.get(place.tabId);
  if (!tab?.frames.has(place.frameId)) throw new Refusal('no such frame', `There is no context ${context}.`);
  if (isOwn(tab.url)) throw new Refusal('no such frame', OWN_REFUSED);
  return { ...place, tab, context: String(context) };
}

/** @param {unknown} context a tab's @param {string} what */
export function livingTab(context, what) {
  const place = living(context);
  if (place.frameId !== 0) throw invalid(`${what} is for tabs, and ${context} is a frame in one.`);
  return place;
}

/** @param {number} tabId @param {number} frameId @param {number} depth @returns {any} */
function describe(tabId, frameId, depth) {
  const tab = /** @type {Tab} */ (tabs.get(tabId));
  const frame = /** @type {Frame} */ (tab.frames.get(frameId));
  const children = [...tab.frames].filter(([, { parentId }]) => parentId === frameId).map(([id]) => id);
  return {
    context: contextOf(tabId, frameId),
    url: frame.url || 'about:blank',
    userContext: userContextOf(tab.store),
    originalOpener: frameId === 0 && tab.opener !== undefined ? contextOf(tab.opener) : null,
    clientWindow: `window-${tab.windowId}`,
    children: depth > 0 ? children.map((id) => describe(tabId, id, depth - 1)) : null,
    ...(frameId === 0 && { 'bowline:chosen': isChosen(tabId), 'bowline:incognito': tab.incognito }),
  };
}

/** @param {number} tabId @param {number} frameId */
function withParent(tabId, frameId) {
  const parentId = frameAt(tabId, frameId)?.parentId ?? -1;
  return { ...describe(tabId, frameId, 0), parent: parentId < 0 ? null : contextOf(tabId, parentId) };
}

/** @param {number} tabId @param {number} frameId */
function tellCreated(tabId, frameId) {
  if (isOwn(tabs.get(tabId)?.url)) return;
  emit('browsingContext.contextCreated', contextOf(tabId, frameId), () => withParent(tabId, frameId));
}

onReplay(async () => {
  for (const [tabId, { frames }] of tabs) for (const frameId of frames.keys()) tellCreated(tabId, frameId);
});

/** A frame that is new, by whatever way it is heard of. @param {number} tabId @param {number} frameId @param {number} parentId @param {string} url */
export function ensureFrame(tabId, frameId, parentId, url) {
  const tab = tabs.get(tabId);
  if (!tab || tab.frames.has(frameId)) return;
  // Its parent has not been heard of yet: it is found with the next look.
  if (!tab.frames.has(parentId)) return look(tabId);
  tab.frames.set(frameId, { parentId, url, navigation: null });
  tellCreated(tabId, frameId);
}

/** Tabs that are to be looked at. @type {Set<number>} */
const looks = new Set();

/** Which frames a tab has, asked anew: once for many that come or go together. @param {number} tabId */
export function look(tabId) {
  if (looks.has(tabId)) return;
  looks.add(tabId);
  setTimeout(() => {
    looks.delete(tabId);
    void lookNow(tabId);
  }, LOOK_DELAY);
}

/** @param {number} tabId */
async function lookNow(tabId) {
  const frames = await firefox.webNavigation.getAllFrames({ tabId }).catch(() => null) ?? [];
  const tab = tabs.get(tabId);
  if (!tab) return;
  const there = new Set(frames.map((/** @type {any} */ { frameId }) => frameId));
  for (const frameId of [...tab.frames.keys()]) if (frameId !== 0 && !there.has(frameId)) dropFrame(tabId, frameId);
  for (const { frameId, parentFrameId, url } of frames) if (tab.frames.has(parentFrameId)) ensureFrame(tabId, frameId, parentFrameId, url);
}

/** @param {number} tabId @param {number} frameId */
function dropFrame(tabId, frameId) {
  const tab = tabs.get(tabId);
  const frame = tab?.frames.get(frameId);
  if (!tab || !frame) return;
  dropChildren(tabId, frameId);
  const told = withParent(tabId, frameId);
  tab.frames.delete(frameId);
  emit('browsingContext.contextDestroyed', told.context, () => told);
}

/** A new document has none of the frames of the one before. @param {number} tabId @param {number} frameId */
export function dropChildren(tabId, frameId) {
  for (const [id, { parentId }] of [...tabs.get(tabId)?.frames ?? []]) if (parentId === frameId) dropFrame(tabId, id);
}

/** @param {number} tabId @param {number} frameId @param {string} url */
export function moved(tabId, frameId, url) {
  const tab = tabs.get(tabId);
  const frame = tab?.frames.get(frameId);
  if (!tab || !frame) return;
  frame.url = url;
  if (frameId !== 0) return;
  const wasOwn = isOwn(tab.url);
  tab.url = url;
  // A page of ours is nobody's: the tab is gone for agents, and there again when it has left.
  if (isOwn(url) && !wasOwn) emit('browsingContext.contextDestroyed', contextOf(tabId), () => withParent(tabId, 0));
  else if (wasOwn && !isOwn(url)) tellCreated(tabId, 0);
}

/** @param {any} tab */
export function onCreated(tab) {
  if (!hasSession() || tabs.has(tab.id)) return;
  tabs.set(tab.id, { url: tab.url ?? '', store: tab.cookieStoreId, opener: openers.get(tab.id) ?? tab.openerTabId, windowId: tab.windowId, incognito: tab.incognito, frames: new Map([[0, { parentId: -1, url: tab.url ?? '', navigation: null }]]) });
  inherit(tab.id, openers.get(tab.id) ?? tab.openerTabId);
  openers.delete(tab.id);
  tellCreated(tab.id, 0);
}

/** Who opened a tab, as far as a page did. @type {Map<number, number>} */
const openers = new Map();
/** @param {{sourceTabId: number, tabId: number}} details */
export function onCreatedNavigationTarget({ sourceTabId, tabId }) {
  const tab = tabs.get(tabId);
  if (!tab) openers.set(tabId, sourceTabId);
  else tab.opener ??= sourceTabId;
  inherit(tabId, sourceTabId);
}

/** A window that a page has opened, when the hub clicked. A page's word is taken for addresses of the web alone. @param {number} tabId @param {{url: string, inFront: boolean}} wanted */
export async function openFor(tabId, { url, inFront }) {
  if (!/^https?:/i.test(url) || settings.policy.noNewTabs || settings.policy.readOnly) return;
  // Beside the tab that it comes from, and with the same logins.
  const { windowId, cookieStoreId } = await firefox.tabs.get(tabId);
  await firefox.tabs.create({ url, active: inFront, openerTabId: tabId, windowId, cookieStoreId }).catch(() => {});
}

/** @param {number} tabId */
export function onRemoved(tabId) {
  const tab = tabs.get(tabId);
  if (!tab) return;
  dropChildren(tabId, 0);
  const told = withParent(tabId, 0);
  const wasOwn = isOwn(tab.url);
  tabs.delete(tabId);
  if (!wasOwn) emit('browsingContext.contextDestroyed', told.context, () => told);
}

/** Into another window. @param {number} tabId @param {{newWindowId: number}} info */
export function onAttached(tabId, { newWindowId }) {
  const tab = tabs.get(tabId);
  if (tab) tab.windowId = newWindowId;
}

/** @type {Record<string, (params: any) => Promise<object | void>>} */
export const COMMANDS = {
  async 'browsingContext.getTree'({ root, maxDepth }) {
    const depth = maxDepth ?? Infinity;
    if (root !== undefined) {
      const { tabId, frameId } = living(root);
      const { parentId } = /** @type {Frame} */ (frameAt(tabId, frameId));
      return { contexts: [{ ...describe(tabId, frameId, depth), parent: parentId < 0 ? null : contextOf(tabId, parentId) }] };
    }
    const told = [...tabs].filter(([, { url }]) => !isOwn(url)).map(([tabId]) => ({ ...describe(tabId, 0, depth), parent: null }));
    return { contexts: told };
  },

  async 'browsingContext.create'({ type = 'tab', background = false, referenceContext, userContext }) {
    const store = userContext === undefined ? {} : { cookieStoreId: storeOf(userContext) };
    let tab;
    if (type === 'window') {
      const made = await firefox.windows.create({ url: 'about:blank', ...store });
      [tab] = made.tabs;
    } else {
      const beside = referenceContext === undefined ? {} : await firefox.tabs.get(livingTab(referenceContext, 'referenceContext').tabId);
      const windowId = beside.windowId ?? await windowInFront();
      if (windowId === undefined) [tab] = (await firefox.windows.create({ url: 'about:blank', ...store })).tabs;
      else tab = await firefox.tabs.create({ url: 'about:blank', active: !background, windowId, ...(beside.index !== undefined && { index: beside.index + 1 }), ...store });
    }
    // The hub hears of it as an event before it hears of it as a result, and of its empty page, too: it could be taken for the next one.
    onCreated(tab);
    await Promise.all([touch(tab.id), blank(tab.id)]);
    return { context: contextOf(tab.id), userContext: userContextOf(tab.cookieStoreId) };
  },

  async 'browsingContext.close'({ context }) {
    await firefox.tabs.remove(livingTab(context, 'Closing').tabId);
  },

  async 'browsingContext.activate'({ context }) {
    const { windowId } = await firefox.tabs.update(livingTab(context, 'Activating').tabId, { active: true });
    await firefox.windows.update(windowId, { focused: true });
  },

  async 'browsingContext.setViewport'() {
    throw unsupported('An extension cannot change the size of a page in a person’s own window.');
  },

  async 'browsingContext.print'() {
    throw unsupported('An extension in Firefox cannot print a page into data.');
  },

  async 'browser.getClientWindows'() {
    const windows = await firefox.windows.getAll();
    return {
      clientWindows: windows.map((/** @type {any} */ { id, focused, left, top, width, height, state }) => ({ clientWindow: `window-${id}`, active: focused, x: left, y: top, width, height, state })),
    };
  },

  async 'browser.getUserContexts'() {
    const names = new Set(['default', ...[...tabs.values()].map(({ store }) => userContextOf(store))]);
    return { userContexts: [...names].map((userContext) => ({ userContext })) };
  },

  async 'browser.close'() {
    throw unsupported('A person’s own Firefox is not closed by an extension.');
  },
};

/** @param {number} tabId */
function blank(tabId) {
  return new Promise((resolve) => {
    const { onCompleted } = firefox.webNavigation;
    const listener = (/** @type {any} */ details) => { if (details.tabId === tabId) end(); };
    const end = () => {
      onCompleted.removeListener(listener);
      resolve(undefined);
    };
    if (frameAt(tabId, 0)?.isLoaded) return resolve(undefined);
    onCompleted.addListener(listener);
    setTimeout(end, BLANK_PATIENCE);
    return undefined;
  });
}

/** The normal window that people look at, a private one only if there is no other. */
async function windowInFront() {
  const windows = await firefox.windows.getAll({ windowTypes: ['normal'] });
  const find = (/** @type {(window: any) => boolean} */ fits) => windows.find(fits);
  return (find(({ focused, incognito }) => focused && !incognito) ?? find(({ incognito }) => !incognito) ?? windows[0])?.id;
}
