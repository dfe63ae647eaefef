// @ts-check
// What the hub may ask: one function per command, and the short way of CDP commands past all of them.
import { attach, detach, ready } from './debuggers.js';
import { findDownload } from './downloads.js';
import { freeFrames } from './frames.js';
import { isOwn, OWN_REFUSED } from './own.js';
import { describeTab, inOrder, listTabs } from './tabs.js';

/** @typedef {import('./relay.js').Connection} Connection */

/** Who drives which tab, for popup, group and badge. @type {(tabs: {tabId: number, clients: string[]}[]) => void} */
let drivers = () => {};
/** @param {typeof drivers} listener */
export function onDrivers(listener) {
  drivers = listener;
}

/** The commands that lead a tab to an address. */
const LEADING = new Set(['Page.navigate', 'Target.createTarget']);

/**
 * One message of the hub. CDP commands go to Chrome from here, without a promise, a look-up or a copy.
 * @param {any} message
 * @param {Connection} connection
 */
export function obey(message, connection) {
  const { id, method, params } = message;
  if (method === 'cdpCommand') {
    const { tabId, childSessionId } = params;
    try {
      if (LEADING.has(params.method) && isOwn(params.params?.url)) throw new Error(OWN_REFUSED);
      chrome.debugger.sendCommand(
        childSessionId === undefined ? { tabId } : { tabId, sessionId: childSessionId },
        params.method,
        params.params,
        (result) => {
          const error = chrome.runtime.lastError;
          connection.reply(error
            ? '{"id":' + id + ',"error":' + JSON.stringify(error.message) + '}'
            : '{"id":' + id + ',"result":' + (result === undefined ? '{}' : JSON.stringify(result)) + '}');
        },
      );
    } catch (error) {
      refuse(connection, id, error);
    }
  } else if (method === 'ping') {
    connection.reply('{"method":"pong"}');
  } else if (method === 'drivers') {
    drivers(params.tabs ?? []);
  } else if (id !== undefined) {
    run(method, params ?? {}).then(
      (result) => connection.reply(`{"id":${id},"result":${JSON.stringify(result ?? {})}}`),
      (error) => refuse(connection, id, error),
    );
  }
}

/** @param {Connection} connection @param {number} id @param {unknown} error */
function refuse(connection, id, error) {
  connection.reply(JSON.stringify({ id, error: error instanceof Error ? error.message : String(error) }));
}

/** @param {string} method @param {any} params */
async function run(method, params) {
  if (!Object.hasOwn(COMMANDS, method)) throw new Error(`This extension (${chrome.runtime.getManifest().version}) does not know the command ${method}.`);
  return COMMANDS[method](params);
}

/** @type {Record<string, (params: any) => Promise<object | void>>} */
const COMMANDS = {
  async listTabs() {
    await ready;
    return { tabs: await listTabs() };
  },

  async attachTab({ tabId, resume = false }) {
    const adopted = await attach(tabId, resume);
    const { targetId } = await describeTab(tabId);
    return { targetId, ...(adopted && { adopted }) };
  },

  async detachTab({ tabId }) {
    await detach(tabId);
  },

  async createTab({ url = 'about:blank', active = false, newWindow = false, attach: attachToo = false, ...bounds }) {
    if (isOwn(url)) throw new Error(OWN_REFUSED);
    const tabId = await (newWindow ? createInWindow(url, active, bounds) : createInFront(url, active));
    if (attachToo) await attach(tabId, false);
    // The hub hears of the tab as an event before it hears of it as a result.
    await inOrder(() => {});
    return { tab: await describeTab(tabId) };
  },

  async closeTab({ tabId }) {
    await chrome.tabs.remove(tabId);
  },

  async activateTab({ tabId }) {
    const tab = await chrome.tabs.update(tabId, { active: true });
    if (tab) await chrome.windows.update(tab.windowId, { focused: true });
  },

  async getWindow({ tabId }) {
    const { windowId } = await chrome.tabs.get(tabId);
    const { left, top, width, height, state } = await chrome.windows.get(windowId);
    return { windowId, left, top, width, height, state };
  },

  async setWindow({ windowId, ...change }) {
    await chrome.windows.update(windowId, boundsOf(change));
  },

  findDownload,

  async cancelDownload({ id }) {
    await chrome.downloads.cancel(id);
  },

  freeFrames,
};

/** @param {string} url @param {boolean} active */
async function createInFront(url, active) {
  const windows = await chrome.windows.getAll({ windowTypes: ['normal'] });
  if (windows.length === 0) return createInWindow(url, active, {});
  const { id: windowId } = windows.find(({ focused, incognito }) => focused && !incognito) ?? windows.find(({ incognito }) => !incognito) ?? windows[0];
  return idOf(await chrome.tabs.create({ url, active, windowId }));
}

/** @param {string} url @param {boolean} active @param {any} bounds */
async function createInWindow(url, active, bounds) {
  const made = await chrome.windows.create({ url, focused: active, ...boundsOf(bounds) });
  return idOf(made?.tabs?.[0]);
}

/** @param {chrome.tabs.Tab | undefined} tab */
function idOf(tab) {
  if (tab?.id === undefined) throw new Error('Chrome has opened no tab.');
  return tab.id;
}

/**
 * Chrome takes whole numbers, and no place or size for a window that is not in its normal state.
 * @param {any} given
 */
function boundsOf(given) {
  /** @type {any} */
  const bounds = {};
  for (const name of ['left', 'top', 'width', 'height']) {
    if (typeof given[name] === 'number' && (given.state ?? 'normal') === 'normal') bounds[name] = Math.round(given[name]);
  }
  if (given.state !== undefined) bounds.state = given.state;
  return bounds;
}
