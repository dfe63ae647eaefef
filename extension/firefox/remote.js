// @ts-check
// The remote end: every command of the hub, by its name.
import { Refusal, unsupported } from './api.js';
import { COMMANDS as contexts, living } from './contexts.js';
import { touch } from './driven.js';
import { COMMANDS as input } from './input.js';
import { COMMANDS as navigation } from './navigation.js';
import { COMMANDS as network } from './network.js';
import { COMMANDS as prompts } from './prompts.js';
import { COMMANDS as screenshots } from './screenshots.js';
import { COMMANDS as script } from './script.js';
import { COMMANDS as session } from './session.js';
import { COMMANDS as storage } from './storage.js';

const COMMANDS = { ...session, ...contexts, ...navigation, ...script, ...input, ...screenshots, ...storage, ...prompts, ...network };

/** What no extension can do at all, by the beginning of its name. */
const BEYOND = {
  'browser.createUserContext': 'Containers are made by the person.',
  'browser.removeUserContext': 'Containers are removed by the person.',
  'browser.setClientWindowState': 'A person’s windows stay as they are.',
  'browser.setDownloadBehavior': 'Downloads go where the person has said.',
  'emulation.': 'An extension cannot make a page believe in another device, place or time.',
  'webExtension.': 'An extension installs no others.',
  'permissions.': 'An extension grants pages no permissions.',
};

/** What is done in a tab, or wanted of it. */
const TOUCHING = /^(input|script)\.|^browsingContext\.(navigate|reload|traverseHistory|captureScreenshot|handleUserPrompt)$/;

/** The contexts that a command is for. Who lists tabs asks them for their titles, and wants nothing else. @param {string} method @param {any} params @returns {string[]} */
function meant(method, { context, target, contexts, expression }) {
  if (method === 'session.subscribe' || method.startsWith('network.add')) return contexts ?? [];
  if (!TOUCHING.test(method) || expression === 'document.title') return [];
  return [context ?? target?.context ?? target?.realm?.split(':')[0]].filter((one) => one !== undefined);
}

/** @param {string} method @param {any} params */
export async function run(method, params) {
  for (const context of meant(method, params)) await touch(living(context).tabId);
  if (Object.hasOwn(COMMANDS, method)) return await COMMANDS[method](params) ?? {};
  for (const [begin, why] of Object.entries(BEYOND)) if (method.startsWith(begin)) throw unsupported(why);
  throw new Refusal('unknown command', `${method} is not a command of this browser.`);
}
