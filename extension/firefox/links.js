// @ts-check
// The wires to frames: our scripts in them, put there when they are first asked, and where something is to be heard from the
// beginning, into each new document before its own scripts run; one port each. Without a session no page has anything of ours.
import { firefox, Refusal, unsupported } from './api.js';
import { frameAt, look } from './contexts.js';
import { contextOf } from './names.js';

const pathOf = (/** @type {string} */ name) => `firefox/content/${name}.js`;
/** What every document has while there is a session: as little as hooks and a port need. */
const FIRST = ['worlds', 'values', 'errors', 'hooks', 'main'].map(pathOf);
/** What comes with the first command. */
const MORE = ['clock', 'script', 'trust', 'targets', 'popups', 'pointer', 'keyboard', 'input', 'files', 'ops'].map(pathOf);
/** For a script of ours to come up in a frame that has just been given it. */
const PATIENCE = 5_000;
/** For its port to be here. */
const LINK_PATIENCE = 1_000;
/** For a discarded tab to have a page. */
const LOAD_PATIENCE = 10_000;

/**
 * @typedef {object} Link
 * @property {any} port
 * @property {string | undefined} documentId
 * @property {number} tabId
 * @property {number} frameId
 * @property {Promise<unknown>} [equipped] all of our scripts are there
 * @property {Map<number, {resolve: (value: any) => void, reject: (error: Error) => void}>} pending
 */

/** By `tab frame`, the latest first: that of the document before may come late, and go later. @type {Map<string, Link[]>} */
const links = new Map();
/** By the key of the document. @type {Map<string, Link>} */
const byKey = new Map();
/** Who waits for a link to come. @type {Set<() => void>} */
const waiting = new Set();
let next = 1;
/** @type {any} */
let registered;
let isOpen = false;
/** What new documents are hooked for. @type {{log: boolean, prompts: string}} */
let hooks = { log: false, prompts: '' };

/**
 * What frames tell by themselves, and what is known of them elsewhere.
 * @type {{event: (link: Link, event: string, params: any) => void, mayEval: (tabId: number, frameId: number, url: string) => boolean, isDriven: (tabId: number) => boolean, isCalledOff: (tabId: number, number: number) => boolean, gone: (link: Link) => void}}
 */
let ears = { event: () => {}, gone: () => {}, mayEval: () => false, isDriven: () => false, isCalledOff: () => false };
/** @param {typeof ears} given */
export function listen(given) {
  ears = given;
}

/** @param {number} tabId @param {number} frameId */
const nameOf = (tabId, frameId) => `${tabId} ${frameId}`;

/** The one of the document that is there. @param {number} tabId @param {number} frameId @returns {Link | undefined} */
function linkAt(tabId, frameId) {
  const all = links.get(nameOf(tabId, frameId)) ?? [];
  const now = frameAt(tabId, frameId)?.documentId;
  return all.find(({ documentId }) => documentId === now) ?? (now === undefined ? all[0] : all.find(({ documentId }) => documentId === undefined));
}

const everyLink = () => [...links.values()].flat();

/** There is a session: frames may have our scripts, and get them when they are asked. */
export function begin() {
  isOpen = true;
}

/**
 * From now on every new document is hooked for what is wanted before its own scripts run; for nothing, it has nothing of ours.
 * @param {typeof hooks} wanted
 * @param {boolean} isFirst whether our scripts are to be there in any case, before those of others that share their world
 * @returns {Promise<boolean>} whether something has changed
 */
export async function enter(wanted, isFirst) {
  const isWanted = Boolean(wanted.log || wanted.prompts || isFirst);
  if (wanted.log === hooks.log && wanted.prompts === hooks.prompts && isWanted === Boolean(registered)) return false;
  hooks = wanted;
  const before = registered;
  // Safari cannot do that.
  registered = isWanted && await firefox.contentScripts?.register({
    matches: ['<all_urls>'], allFrames: true, matchOriginAsFallback: true, runAt: 'document_start',
    js: [{ code: `globalThis.bowlineHooks = ${JSON.stringify(hooks)};` }, ...FIRST.map((file) => ({ file: `/${file}` }))],
  });
  await before?.unregister?.();
  rehook();
  return true;
}

/** Only tabs that agents work in are hooked; new documents are it for a moment, until it is known which tab they are in. @param {number} tabId */
const hooksFor = (tabId) => (ears.isDriven(tabId) ? hooks : {});

/** Tells all frames what they are hooked for now. */
export function rehook() {
  for (const { port, tabId } of everyLink()) port.postMessage({ id: next++, op: 'hook', params: hooksFor(tabId) });
}

/** The session is over: nothing of ours comes into new documents, and what is there is told to be quiet, by its port. */
export async function leave() {
  isOpen = false;
  await enter({ log: false, prompts: '' }, false);
  for (const link of everyLink()) {
    drop(link);
    link.port.disconnect();
  }
}

/** Into the pages of tabs that are open already. @param {number[]} tabs */
export async function enterOpen(tabs) {
  if (!hooks.log && !hooks.prompts) return;
  await Promise.all(tabs.map((tabId) => firefox.scripting.executeScript({ target: { tabId, allFrames: true }, files: FIRST, injectImmediately: true }).catch(() => {})));
}

/** @param {any} port */
export function onConnect(port) {
  const key = /^frame (.+)$/.exec(port.name)?.[1];
  const { tab, frameId, url, documentId } = port.sender ?? {};
  if (key === undefined || tab?.id === undefined || frameId === undefined) return;
  if (!isOpen) return void port.disconnect();
  const tabId = tab.id;
  /** @type {Link} */
  const link = { port, tabId, frameId, documentId, pending: new Map() };
  links.set(nameOf(tabId, frameId), [link, ...links.get(nameOf(tabId, frameId)) ?? []]);
  byKey.set(key, link);
  port.onMessage.addListener((/** @type {any} */ message) => receive(link, message));
  port.onDisconnect.addListener(() => {
    byKey.delete(key);
    drop(link);
    ears.gone(link);
    if (frameId !== 0) look(tabId);
  });
  port.postMessage({ begin: { tabId, mayEval: ears.mayEval(tabId, frameId, url), hooks: hooksFor(tabId) } });
  if (frameId !== 0) look(tabId);
  for (const wake of waiting) wake();
}

/** @param {Link} link */
function drop(link) {
  const name = nameOf(link.tabId, link.frameId);
  const left = (links.get(name) ?? []).filter((one) => one !== link);
  if (left.length > 0) links.set(name, left);
  else links.delete(name);
  for (const { reject } of link.pending.values()) reject(new Refusal('no such frame', 'The document has gone while it was asked.'));
  link.pending.clear();
}

/** @param {string} key @returns {Promise<Link | undefined>} the frame that a document is in */
export async function linkOf(key) {
  await until(() => byKey.has(key));
  return byKey.get(key);
}

/** @param {() => boolean} ready @param {number} [ms] */
async function until(ready, ms = PATIENCE) {
  if (ready()) return;
  await new Promise((resolve) => {
    const wake = () => {
      if (!ready()) return;
      waiting.delete(wake);
      resolve(undefined);
    };
    waiting.add(wake);
    setTimeout(() => { waiting.delete(wake); resolve(undefined); }, ms);
  });
}

/** @param {Link} link @param {any} message */
async function receive(link, { id, result, error, event, params, ask: number, op }) {
  if (event !== undefined) return ears.event(link, event, params);
  if (number !== undefined) {
    try {
      link.port.postMessage({ answer: number, result: await asked(link, op, params) });
    } catch (problem) {
      link.port.postMessage({ answer: number, error: /** @type {Error} */ (problem).message });
    }
    return undefined;
  }
  const waits = link.pending.get(id);
  link.pending.delete(id);
  if (error) waits?.reject(new Refusal(error.error, error.message));
  else waits?.resolve(result);
  return undefined;
}

/** What a frame asks of us. @param {Link} link @param {string} op @param {any} params */
async function asked(link, op, params) {
  // An act that goes on in a frame inside.
  if (op === 'forward') return ask(link.tabId, params.frameId, 'act', params.act);
  if (op === 'isCalledOff') return { calledOff: ears.isCalledOff(link.tabId, params.number) };
  if (op === 'wait') return new Promise((resolve) => { setTimeout(resolve, params.ms, {}); });
  throw new Error(`no ${op}`);
}

/** @param {number} tabId @param {number} frameId */
export const hasLink = (tabId, frameId) => linkAt(tabId, frameId) !== undefined;

/**
 * Asks our script in a frame.
 * @param {number} tabId
 * @param {number} frameId
 * @param {string} op
 * @param {object} params
 * @returns {Promise<any>}
 */
export async function ask(tabId, frameId, op, params) {
  const link = linkAt(tabId, frameId) ?? await put(tabId, frameId);
  await equip(link);
  if (!everyLink().includes(link)) throw new Refusal('no such frame', 'The document has gone while it was asked.');
  const id = next++;
  const answer = new Promise((resolve, reject) => link.pending.set(id, { resolve, reject }));
  link.port.postMessage({ id, op, params });
  return answer;
}

/** Resolves when a document hears us again: what it was busy with is over. @param {Link} link */
export async function turn(link) {
  if (!everyLink().includes(link)) return;
  const id = next++;
  const answer = new Promise((resolve, reject) => link.pending.set(id, { resolve, reject }));
  link.port.postMessage({ id, op: 'hook', params: hooksFor(link.tabId) });
  await answer.catch(() => {});
}

/** All of our scripts, into the very document that the link is of. @param {Link} link */
async function equip(link) {
  const { tabId, frameId, documentId } = link;
  const target = documentId === undefined ? { tabId, frameIds: [frameId] } : { tabId, documentIds: [documentId] };
  link.equipped ??= firefox.scripting.executeScript({ target, files: MORE, injectImmediately: true });
  await /** @type {Promise<unknown>} */ (link.equipped).catch(() => { link.equipped = undefined; });
}

/** A frame that has no script of ours yet gets it now. @param {number} tabId @param {number} frameId @returns {Promise<Link>} */
async function put(tabId, frameId) {
  const tab = await firefox.tabs.get(tabId).catch(() => { throw new Refusal('no such frame', `There is no context ${contextOf(tabId, frameId)}.`); });
  if (tab.discarded) {
    await firefox.tabs.reload(tabId);
    await until(() => linkAt(tabId, frameId) !== undefined, LOAD_PATIENCE);
  }
  const there = () => linkAt(tabId, frameId);
  try {
    await firefox.scripting.executeScript({ target: { tabId, frameIds: [frameId] }, files: FIRST, injectImmediately: true });
  } catch (error) {
    // A frame that has just gone is told in the same words.
    if (frameId === 0 && /missing host permission|cannot access|privileged|not be accessed/i.test(String(error))) {
      throw unsupported(`Firefox lets no extension into this page: ${tab.url}`);
    }
    throw new Refusal('no such frame', String(/** @type {Error} */ (error).message));
  }
  // It has run by now, and says so at once; a frame that has gone never does.
  await until(() => there() !== undefined, LINK_PATIENCE);
  const link = there();
  if (!link) throw new Refusal('no such frame', 'The document has gone, or runs no scripts of extensions.');
  return link;
}

