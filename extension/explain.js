// @ts-check
// Why the hub did not open a WebSocket: a refused upgrade tells the browser nothing, but a plain request
// to the same address is told.
import { PROTOCOL } from './handshake.js';

/** @typedef {import('./relay.js').Status} Status */

const PATIENCE = 2_000;

/**
 * @param {string} address
 * @returns {Promise<Status | undefined>} undefined if nobody listens there
 */
export async function explain(address) {
  let answer;
  let text;
  try {
    answer = await fetch(address, { signal: AbortSignal.timeout(PATIENCE), cache: 'no-store', credentials: 'omit' });
    text = await answer.text();
  } catch {
    return undefined;
  }
  if (answer.status === 409) {
    return refused('busy', 'The hub already has a connection of this very browser profile.', 'It goes on by itself when the other one is gone. A copied profile must be paired on its own.');
  }
  if (answer.status === 403) {
    return refused('unknown_extension', 'The hub does not take this extension’s id.', `Add "${new URL(chrome.runtime.getURL('')).host}" to extension.ids in its configuration.`);
  }
  const { bowline, protocol } = asHub(text);
  if (typeof bowline !== 'string') return { kind: 'impostor', why: `it answered ${answer.status} as no hub does` };
  if (protocol === PROTOCOL) return undefined;
  const older = protocol < PROTOCOL ? 'the hub' : 'the extension';
  return refused('protocol_version', `The hub (${bowline}) speaks protocol ${protocol}, this extension ${PROTOCOL}.`, `Update ${older}, which is older.`);
}

/** @param {string} text @returns {{bowline?: unknown, protocol?: any}} */
function asHub(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/** @param {string} code @param {string} message @param {string} hint @returns {Status} */
const refused = (code, message, hint) => ({ kind: 'refused', code, message, hint });
