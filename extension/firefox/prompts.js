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
/** Who waits for the next dialog of a tab. @type {Map<number, () => void>} */
const awaited = new Map();

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
  const dialog = open.get(link.tabId);
  if (dialog?.link === link) dialog.settle({ accepted: false, text: '' });
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
    awaited.get(tabId)?.();
  });
}

/** The page has gone on: to its next dialog, or to where it hears us. @param {import('./links.js').Link} link */
function goneOn(link) {
  const next = new Promise((resolve) => awaited.set(link.tabId, () => resolve(undefined)));
  // Twice: it may hear us while it waits in the next dialog, of which we are just being told.
  const idle = turn(link).then(() => turn(link));
  return Promise.race([next, idle]).finally(() => awaited.delete(link.tabId));
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
    const gone = goneOn(dialog.link);
    dialog.settle({ accepted: accept, text: userText });
    // Whoever asks at once whether there is another one is not to be too early.
    await gone;
  },
};
