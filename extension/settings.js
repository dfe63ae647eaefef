// @ts-check
// What the person has set, and who this installation is: kept where pages cannot read it, read once when
// the worker starts, and from then on served from memory.
import { parseHub } from './origins.js';
import { read, write } from './store.js';

/**
 * @typedef {object} Policy
 * @property {'auto' | 'manual'} mode
 * @property {boolean} readOnly
 * @property {boolean} noNewTabs
 * @property {string[]} allow
 * @property {string[]} deny
 * @property {boolean} allowCookies
 * @property {boolean} allowFiles
 * @property {boolean} paused after Cancel on the infobar, until the person or a new client resumes
 *
 * @typedef {object} Settings
 * @property {string} hub
 * @property {string} instance
 * @property {string} key the pairing key as base64url, '' without one
 * @property {Policy} policy
 */

export const DEFAULT_HUB = 'http://127.0.0.1:9223';

/** @type {Policy} */
const DEFAULT_POLICY = {
  mode: 'auto', readOnly: false, noNewTabs: false, allow: [], deny: [],
  allowCookies: false, allowFiles: false, paused: false,
};

/** @type {Settings} Right after `ready`. */
export const settings = { hub: DEFAULT_HUB, instance: '', key: '', policy: { ...DEFAULT_POLICY } };

/** Fulfilled when `settings` holds what is stored. */
export const ready = load();

async function load() {
  let stored = await read(['hub', 'instance', 'key', 'policy']);
  if (typeof stored.instance !== 'string') stored = await firstStart();
  settings.hub = parseHub(String(stored.hub ?? '')) ?? DEFAULT_HUB;
  settings.instance = String(stored.instance);
  settings.key = typeof stored.key === 'string' ? stored.key : '';
  settings.policy = asPolicy(stored.policy);
}

/** Who tests or deploys this extension may lay a preset.json beside the manifest; usually there is none. */
async function firstStart() {
  const instance = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const preset = await fetch(chrome.runtime.getURL('preset.json')).then((answer) => answer.json()).catch(() => ({}));
  const first = { hub: DEFAULT_HUB, instance, key: '', policy: DEFAULT_POLICY, ...preset };
  await write(first);
  return first;
}

/**
 * Every member is there and of its type, whatever an older version has stored.
 * @param {any} stored
 * @returns {Policy}
 */
function asPolicy(stored) {
  /** @type {any} */
  const policy = { ...DEFAULT_POLICY };
  for (const [name, value] of Object.entries(stored ?? {})) {
    if (name in policy && typeof value === typeof policy[name] && Array.isArray(value) === Array.isArray(policy[name])) policy[name] = value;
  }
  if (policy.mode !== 'manual') policy.mode = 'auto';
  return policy;
}

/** Who is to know of the person's changes, besides the hub. */
let changed = () => {};
/** @param {() => void} listener */
export function onPolicy(listener) {
  changed = listener;
}

/** @param {Partial<Policy>} change */
export async function changePolicy(change) {
  settings.policy = asPolicy({ ...settings.policy, ...change });
  changed();
  await write({ policy: settings.policy });
}

/** @param {string} hub in its normal form */
export async function changeHub(hub) {
  settings.hub = hub;
  await write({ hub });
}

/** @param {string} key base64url; '' forgets the pairing */
export async function changeKey(key) {
  settings.key = key;
  await write({ key });
}
