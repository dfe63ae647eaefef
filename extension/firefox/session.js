// @ts-check
// The one session of the hub: what it has subscribed to. It outlives a dropped socket, for a hub that comes back for it.
import { event } from '../relay.js';
import { invalid, Refusal } from './api.js';
import { browserOf } from '../browser.js';
import { topOf } from './names.js';

/** Every event that is ever told, by module. @type {Record<string, string[]>} */
const EVENTS = {
  browsingContext: ['contextCreated', 'contextDestroyed', 'navigationStarted', 'navigationCommitted', 'navigationFailed', 'navigationAborted', 'fragmentNavigated',
    'historyUpdated', 'domContentLoaded', 'load', 'userPromptOpened', 'userPromptClosed', 'downloadWillBegin', 'downloadEnd'],
  log: ['entryAdded'],
  network: ['beforeRequestSent', 'responseStarted', 'responseCompleted', 'fetchError', 'authRequired'],
  script: ['message', 'realmCreated', 'realmDestroyed'],
  input: ['fileDialogOpened'],
};

/**
 * @typedef {{events: Set<string>, contexts: Set<string> | undefined}} Subscription
 * `contexts`: the tabs that it is for; all without it
 */

/** @type {{id: string, subscriptions: Map<string, Subscription>} | undefined} */
let session;

/** @type {(() => unknown)[]} */
const listeners = [];
/** @param {() => unknown} listener called when the session, or what it hears, is another one */
export function onChange(listener) {
  listeners.push(listener);
}
const changed = () => Promise.all(listeners.map((listener) => listener()));

export const hasSession = () => session !== undefined;

/** Whether anybody hears an event, of a tab or at all. @param {string} name @param {string} [top] */
export function hears(name, top) {
  if (!session) return false;
  for (const { events, contexts } of session.subscriptions.values()) {
    if (events.has(name) && (contexts === undefined || top === undefined || contexts.has(top))) return true;
  }
  return false;
}

/** @param {string} name @param {string} context whose event it is @param {() => object} params made only if somebody hears it */
export function emit(name, context, params) {
  if (hears(name, topOf(context))) event(`{"method":"bidiEvent","params":{"method":"${name}","params":${JSON.stringify(params())}}}`);
}

/** The session ends: nothing is heard, hooked or held any more. */
export async function end() {
  if (!session) return;
  session = undefined;
  await changed();
}

/** @type {Record<string, (params: any) => Promise<object | void>>} */
export const COMMANDS = {
  async 'session.status'() {
    return { ready: session === undefined, message: session ? 'Session already started' : '' };
  },

  async 'session.new'() {
    if (session) throw new Refusal('session not created', 'Maximum number of active sessions');
    session = { id: crypto.randomUUID(), subscriptions: new Map() };
    await changed();
    const { name, version, userAgent } = await browserOf();
    const { os } = await chrome.runtime.getPlatformInfo();
    return {
      sessionId: session.id,
      capabilities: {
        acceptInsecureCerts: false, browserName: name.toLowerCase(), browserVersion: version, platformName: os, setWindowRect: false, userAgent,
        unhandledPromptBehavior: { default: 'ignore' },
      },
    };
  },

  async 'session.end'() {
    if (!session) throw new Refusal('invalid session id', 'There is no session.');
    await end();
  },

  async 'session.subscribe'({ events, contexts }) {
    if (!session) throw new Refusal('invalid session id', 'There is no session.');
    const names = expand(events);
    const before = new Set([...names].filter((name) => hears(name)));
    const id = crypto.randomUUID();
    session.subscriptions.set(id, { events: names, contexts: contexts?.length > 0 ? new Set(contexts.map(topOf)) : undefined });
    await changed();
    if (names.has('browsingContext.contextCreated') && !before.has('browsingContext.contextCreated')) await replay();
    return { subscription: id };
  },

  async 'session.unsubscribe'({ subscriptions, events }) {
    if (!session) throw new Refusal('invalid session id', 'There is no session.');
    for (const id of subscriptions ?? []) {
      if (!session.subscriptions.delete(id)) throw invalid(`There is no subscription ${id}.`);
    }
    if (events) {
      const names = expand(events);
      for (const [id, subscription] of session.subscriptions) {
        if (subscription.contexts) continue;
        for (const name of names) subscription.events.delete(name);
        if (subscription.events.size === 0) session.subscriptions.delete(id);
      }
    }
    await changed();
  },
};

/** Tells a new listener of the contexts that are there. @type {() => Promise<void>} */
let replay = async () => {};
/** @param {typeof replay} given */
export function onReplay(given) {
  replay = given;
}

/** @param {unknown} names @returns {Set<string>} */
function expand(names) {
  if (!Array.isArray(names) || names.length === 0) throw invalid('`events` is to be a list of names.');
  const all = new Set();
  for (const name of names) {
    const [module, one] = String(name).split('.');
    if (!EVENTS[module] || (one !== undefined && !EVENTS[module].includes(one))) throw invalid(`${name} is not an event of this browser.`);
    for (const each of one === undefined ? EVENTS[module] : [one]) all.add(`${module}.${each}`);
  }
  return all;
}
