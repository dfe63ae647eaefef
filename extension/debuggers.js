// @ts-check
// Our debuggers on tabs: attached, found again after the worker has died, detached, and taken away by
// the person. What they carry goes straight through, without a look at it.
import { isOwn, OWN_REFUSED } from './own.js';
import { event, tell } from './relay.js';
import { changePolicy, ready as settingsReady, settings } from './settings.js';

const PROTOCOL_VERSION = '1.3';
/** Chrome says at once that no debugger is ours; a page that is busy may not answer for long. */
const PROBE_PATIENCE = 300;
/** For the page of a discarded tab: the hub's commands wait 5 s for a debugger. */
const LOAD_PATIENCE = 3_000;

const PAUSED = 'The person has cancelled debugging in this browser. It goes on when they press Resume in the popup of Bowline, or when a new client connects.';

/** Tabs that have a debugger of ours. Right after `ready`. @type {Set<number>} */
export const attached = new Set();

/** Attachments under way, so that two who ask for one tab share it. @type {Map<number, Promise<boolean>>} */
const attaching = new Map();

/** Debuggers outlive the worker: the new one asks Chrome which are ours. */
export const ready = adoptAll();

/** @type {() => void} */
let changed = () => {};
/** @param {() => void} listener what to call when `attached` or the pause has changed */
export function onChange(listener) {
  changed = listener;
}

async function adoptAll() {
  const targets = await chrome.debugger.getTargets();
  await Promise.all(targets.map(async (target) => {
    if (target.attached && target.tabId !== undefined && await isOurs(target.tabId)) attached.add(target.tabId);
  }));
}

/**
 * Whether the debugger on a tab is ours, not that of DevTools or of another extension: only ours may
 * be spoken through. The command does not exist, so it changes nothing.
 * @param {number} tabId
 * @returns {Promise<boolean>}
 */
function isOurs(tabId) {
  return new Promise((resolve) => {
    setTimeout(() => resolve(true), PROBE_PATIENCE);
    chrome.debugger.sendCommand({ tabId }, 'Bowline.probe', {}).then(
      () => resolve(true),
      (error) => resolve(!/not attached/i.test(String(error?.message))),
    );
  });
}

/**
 * @param {number} tabId
 * @param {boolean} resume a new client asks, which ends the pause after a Cancel
 * @returns {Promise<boolean>} whether it was attached already
 */
export async function attach(tabId, resume) {
  await Promise.all([ready, settingsReady]);
  if (settings.policy.paused) {
    if (!resume) throw new Error(PAUSED);
    await setPaused(false);
  }
  if (attached.has(tabId)) return true;
  let under = attaching.get(tabId);
  if (!under) {
    under = attachNow(tabId).finally(() => attaching.delete(tabId));
    attaching.set(tabId, under);
  }
  return under;
}

/** @param {number} tabId */
async function attachNow(tabId) {
  let adopted = false;
  const { url, pendingUrl, discarded } = await chrome.tabs.get(tabId);
  if (isOwn(url) || isOwn(pendingUrl)) throw new Error(OWN_REFUSED);
  if (discarded) await load(tabId);
  try {
    await chrome.debugger.attach({ tabId }, PROTOCOL_VERSION);
  } catch (error) {
    if (!/already attached/i.test(String(error)) || !await isOurs(tabId)) throw error;
    adopted = true;
  }
  // The person may have pressed Cancel meanwhile, and means this tab, too.
  if (settings.policy.paused) {
    void chrome.debugger.detach({ tabId }).catch(() => {});
    throw new Error(PAUSED);
  }
  attached.add(tabId);
  changed();
  return adopted;
}

/** A discarded tab has no page that could answer: it is loaded first. @param {number} tabId */
async function load(tabId) {
  /** @type {(id: number, info: {status?: string}) => void} */
  let listener = () => {};
  const loaded = new Promise((resolve) => {
    setTimeout(resolve, LOAD_PATIENCE);
    listener = (id, { status }) => {
      if (id === tabId && status === 'complete') resolve(undefined);
    };
  });
  chrome.tabs.onUpdated.addListener(listener);
  try {
    await chrome.tabs.reload(tabId);
    await loaded;
  } finally {
    chrome.tabs.onUpdated.removeListener(listener);
  }
}

/** @param {number} tabId */
export async function detach(tabId) {
  await attaching.get(tabId)?.catch(() => {});
  attached.delete(tabId);
  changed();
  await chrome.debugger.detach({ tabId }).catch(() => {});
}

/**
 * The person, or a hub that is gone, takes the debugger away.
 * @param {number} tabId
 * @param {'by_user' | 'worker'} reason
 */
export async function take(tabId, reason) {
  if (!attached.has(tabId)) return;
  await detach(tabId);
  tell('tabDetached', { tabId, reason });
}

/** A tab of ours has come to a page of this extension, by whatever way. @param {number} tabId @param {{url?: string}} info */
export function onUpdated(tabId, { url }) {
  if (isOwn(url)) void take(tabId, 'worker');
}

/** @param {number} from @param {number} to the id that replaces it */
export function moveAttachment(from, to) {
  if (attached.delete(from)) attached.add(to);
}

/**
 * The hot path: one event of a page on its way to the hub.
 * @param {chrome.debugger.DebuggerSession} source
 * @param {string} method
 * @param {object} [params]
 */
export function onEvent(source, method, params) {
  event('{"method":"cdpEvent","params":{"tabId":' + source.tabId
    + (source.sessionId === undefined ? '' : ',"childSessionId":"' + source.sessionId + '"')
    + ',"method":"' + method + '","params":' + (params === undefined ? '{}' : JSON.stringify(params)) + '}}');
}

/**
 * @param {chrome.debugger.Debuggee} source
 * @param {string} reason
 */
export async function onDetach({ tabId }, reason) {
  await Promise.all([ready, settingsReady]);
  if (reason === 'canceled_by_user') return cancel(tabId);
  if (tabId === undefined || !attached.delete(tabId)) return;
  tell('tabDetached', { tabId, reason });
  changed();
}

/**
 * Cancel on the infobar means all tabs. Chrome tells of each; the first one is enough. A worker that
 * was woken by it finds none attached any more and knows of this one only.
 * @param {number | undefined} tabId
 */
async function cancel(tabId) {
  const tabs = new Set(attached);
  if (tabId !== undefined && !settings.policy.paused) tabs.add(tabId);
  if (tabs.size === 0) return;
  attached.clear();
  for (const one of tabs) {
    tell('tabDetached', { tabId: one, reason: 'canceled_by_user' });
    void chrome.debugger.detach({ tabId: one }).catch(() => {});
  }
  tell('canceled', {});
  await setPaused(true);
}

/** The person wants it to go on after a Cancel. */
export async function resume() {
  if (!settings.policy.paused) return;
  await setPaused(false);
  tell('resumed', {});
}

/** @param {boolean} paused */
async function setPaused(paused) {
  const stored = changePolicy({ paused });
  tell('policy', settings.policy);
  changed();
  await stored;
}
