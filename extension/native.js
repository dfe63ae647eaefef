// @ts-check
// Pairing in one step through native messaging, where `bowline extension install --native` has
// registered the host: the browser itself vouches for this extension's id.
import { browserOf } from './browser.js';
import { parseHub } from './origins.js';
import { changeHub, changeKey, settings } from './settings.js';

const HOST = 'dev.bowline.hub';

/** Stores the key and the address that the host gives. */
export async function pairNatively() {
  let answer;
  try {
    answer = await chrome.runtime.sendNativeMessage(HOST, { method: 'pair', instance: settings.instance, browser: await browserOf() });
  } catch {
    throw new Error('The hub has not registered itself with this browser. Run `bowline extension install --native`, or pair with a code.');
  }
  if (typeof answer?.error === 'string') throw new Error(answer.error);
  const hub = parseHub(`127.0.0.1:${answer?.port}`);
  if (!/^[\w-]{43}$/.test(answer?.key) || hub === undefined) throw new Error('The hub’s answer is not understood. Hub and extension may be of different versions.');
  await changeKey(answer.key);
  await changeHub(hub);
}
