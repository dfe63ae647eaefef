// @ts-check
// How things stand, in words for a person: the same in popup and badge.

/**
 * @typedef {object} Words
 * @property {'good' | 'wait' | 'bad'} tone
 * @property {string} title
 * @property {string} text
 * @property {string} [hint]
 * @property {string} [command] to type in a terminal
 */

/**
 * @param {import('./relay.js').Status} status
 * @param {{hub: string, paused: boolean, driven: number}} more
 * @returns {Words}
 */
export function describe(status, { hub, paused, driven }) {
  const address = hub.replace('http://', '');
  switch (status.kind) {
    case 'connected':
      if (paused) return { tone: 'wait', title: 'Paused', text: 'You cancelled debugging. No agent gets into a tab until you resume, or a new client connects.' };
      return {
        tone: 'good',
        title: `Connected as ${status.name}`,
        text: driven === 0 ? 'No agent is at work in this browser.' : `Agents are at work in ${driven === 1 ? 'one tab' : `${driven} tabs`}.`,
      };
    case 'looking':
      return { tone: 'wait', title: 'Looking for the hub', text: `${status.why ? `${status.why} ` : ''}Nothing answers at ${address} yet.`, hint: 'The hub starts with any command, or with this one:', command: 'bowline serve' };
    case 'unpaired':
      return { tone: 'wait', title: 'Not paired yet', text: 'The hub is there and does not know this browser. Start the pairing in a terminal:', command: 'bowline extension pair' };
    case 'pairing':
      return status.confirmed
        ? { tone: 'wait', title: 'Now say yes in the terminal', text: 'This side is confirmed. The hub waits for your answer there.' }
        : { tone: 'wait', title: 'Compare the codes', text: 'The terminal must show the same six digits.' };
    case 'impostor':
      return { tone: 'bad', title: 'Something else answers', text: `What listens at ${address} is not your hub: ${status.why}. Nothing it says is obeyed.`, hint: 'Find out what uses this port, or change the address below. After a reset of the hub, pair again.' };
    case 'refused':
      return { tone: 'bad', title: REFUSALS[status.code] ?? 'The hub refuses', text: status.message, hint: status.hint };
  }
}

/** @type {Record<string, string>} */
const REFUSALS = {
  protocol_version: 'The versions differ',
  unknown_instance: 'The hub has forgotten this browser',
  wrong_proof: 'The pairing key is wrong',
  pairing_busy: 'Another browser is pairing',
  pairing_declined: 'Declined in the terminal',
  pairing_timeout: 'The pairing took too long',
  busy: 'Connected from elsewhere',
  unknown_extension: 'The hub does not know this extension',
};

/** After these only a new pairing helps. */
export const needsPairing = (/** @type {import('./relay.js').Status} */ status) =>
  status.kind === 'impostor' || (status.kind === 'refused' && ['unknown_instance', 'wrong_proof'].includes(status.code));
