// @ts-check
// The sign on the toolbar button: one look says whether agents can get in, and whether they are in.
import { describe } from './words.js';

/** The same button has two names: the second is that of the second manifest version, which Firefox has here. */
const button = chrome.action ?? /** @type {any} */ (chrome).browserAction;

const COLOURS = { good: '#1a7f5a', wait: '#8a6d1d', bad: '#b3261e', busy: '#2563c9' };

/** What is shown, to leave Chrome alone when nothing has changed. */
let shown = '';

/**
 * @param {import('./relay.js').Status} status
 * @param {{hub: string, paused: boolean, driven: number}} more
 */
export function showBadge(status, more) {
  const { tone, title } = describe(status, more);
  const busy = tone === 'good' && more.driven > 0;
  const text = busy ? String(more.driven) : { good: 'on', wait: more.paused ? '||' : status.kind === 'looking' ? '…' : '?', bad: '!' }[tone];
  const colour = COLOURS[busy ? 'busy' : tone];
  const next = `${text} ${colour} ${title}`;
  if (next === shown) return;
  shown = next;
  void button.setBadgeText({ text });
  void button.setBadgeTextColor({ color: '#ffffff' });
  void button.setBadgeBackgroundColor({ color: colour });
  void button.setTitle({ title: `Bowline: ${title}` });
}
