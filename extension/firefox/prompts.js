// @ts-check
// Dialogs of pages, answered by the hub. A page that opens one waits for a request that is held here, before it is ever sent.
import { settings } from '../settings.js';
import { canHold, firefox, Refusal } from './api.js';
import { living } from './contexts.js';
import { isDriven } from './driven.js';
import { linkOf, turn } from './links.js';
import { contextOf } from './names.js';
import { emit, hears } from './session.js';

/** Nobody but our own scripts knows it, so no page can pretend. It is new in each session. */
let secret = '';
let listening = false;

/**
 * What a page is told: an answer, or that it is to show Firefox's own dialog after all.
 * @typedef {{accepted: boolean, text: string} | {isOwn: true}} Answer
 */

/** Open dialogs by tabs. @type {Map<number, {link: import('./links.js').Link, settle: (answer: Answer) => void}>} */
const open = new Map();
/** Documents that wait in a dialog, or are about to. @type {Set<import('./links.js').Link>} */
const waits = new Set();
/** Who is to know when that changes, or a dialog opens. @type {Set<() => void>} */
const watchers = new Set();
/** For a page to go on; one that is busy for longer has gone on, too. */
const PATIENCE = 2_000;

const wake = () => { for (const look of [...watchers]) look(); };

/** A document has come to a dialog, or out of it. @param {import('./links.js').Link} link @param {{isWaiting: boolean}} told */
export function onWaits(link, { isWaiting }) {
  if (isWaiting) waits.add(link);
  else waits.delete(link);
  wake();
}

/** @param {() => boolean} holds */
async function until(holds) {
  if (holds()) return;
  await new Promise((resolve) => {
    const done = () => {
      watchers.delete(look);
      clearTimeout(late);
      resolve(undefined);
    };
    const look = () => { if (holds()) done(); };
    const late = setTimeout(done, PATIENCE);
    watchers.add(look);
  });
}

/** Where agents may only look, dialogs are the person's. */
const mayAnswer = () => !settings.policy.readOnly && !settings.policy.paused;

/** The address that pages wait at; '' if nobody hears of dialogs: Firefox shows its own then. */
export function address() {
  return hears('browsingContext.userPromptOpened') && secret && mayAnswer() ? `${settings.hub}/${secret}` : '';
}

/** The session or its subscriptions have changed. */
export function update() {
  const wanted = canHold && hears('browsingContext.userPromptOpened');
  leaveToPerson();
  if (wanted === listening) return;
  listening = wanted;
  if (wanted) {
    secret = `prompt-${crypto.randomUUID()}`;
    firefox.webRequest.onBeforeRequest.addListener(hold, { urls: [`${settings.hub.replace(/:\d+$/, '')}/${secret}`] }, ['blocking', 'requestBody']);
  } else {
    firefox.webRequest.onBeforeRequest.removeListener(hold);
    secret = '';
    for (const { settle } of [...open.values()]) settle({ isOwn: true });
  }
}

/** Who worked in a tab has left it: what is still open there is the person's. */
function leaveToPerson() {
  for (const [tabId, { settle }] of [...open]) if (!isDriven(tabId) || !mayAnswer()) settle({ isOwn: true });
}

/** A document has gone, and its dialog with it. @param {import('./links.js').Link} link */
export function onGone(link) {
  waits.delete(link);
  const dialog = open.get(link.tabId);
  if (dialog?.link === link) dialog.settle({ accepted: false, text: '' });
  wake();
}

/** @param {any} details */
async function hold({ requestBody }) {
  try {
    const { key, type, message, defaultValue } = JSON.parse(new TextDecoder().decode(requestBody.raw[0].bytes));
    const link = await linkOf(key);
    if (!link) return { cancel: true };
    if (!isDriven(link.tabId) || !mayAnswer()) return reply({ isOwn: true });
    return reply(await opened(link, type, message, defaultValue));
  } catch {
    return { cancel: true };
  }
}

/** @param {object} answer */
const reply = (answer) => ({ redirectUrl: `data:application/json,${encodeURIComponent(JSON.stringify(answer))}` });

/** @param {import('./links.js').Link} link @param {string} type @param {string} message @param {string} defaultValue @returns {Promise<Answer>} */
function opened(link, type, message, defaultValue) {
  const { tabId } = link;
  const context = contextOf(tabId);
  open.get(tabId)?.settle({ accepted: false, text: '' });
  return new Promise((resolve) => {
    const settle = (/** @type {Answer} */ answer) => {
      open.delete(tabId);
      const { accepted = false, text = '' } = /** @type {any} */ (answer);
      emit('browsingContext.userPromptClosed', context, () => ({ context, accepted, type, ...(type === 'prompt' && accepted && { userText: text }) }));
      resolve(answer);
    };
    open.set(tabId, { link, settle });
    emit('browsingContext.userPromptOpened', context, () => ({ context, handler: 'ignore', message, type, ...(type === 'prompt' && { defaultValue }) }));
    wake();
  });
}

/** The page has gone on: to its next dialog, which is open, or to where it hears us. @param {import('./links.js').Link} link */
async function goneOn(link) {
  await until(() => !waits.has(link) || open.has(link.tabId));
  // What it says comes in order: if it hears us in another dialog, it has told of that before.
  await Promise.race([turn(link), until(() => open.has(link.tabId))]);
  if (waits.has(link)) await until(() => open.has(link.tabId));
}

/** @param {number} tabId */
export function onRemoved(tabId) {
  open.get(tabId)?.settle({ accepted: false, text: '' });
}

/** @type {Record<string, (params: any) => Promise<object | void>>} */
export const COMMANDS = {
  async 'browsingContext.handleUserPrompt'({ context, accept = true, userText = '' }) {
    const { tabId } = living(context);
    const dialog = open.get(tabId);
    if (!dialog) throw new Refusal('no such alert', 'No dialog is open.');
    dialog.settle({ accepted: accept, text: userText });
    // Whoever asks at once whether there is another one is not to be too early.
    await goneOn(dialog.link);
  },
};
