// @ts-check
// Downloads, as far as a tab can be told: Firefox does not say which one a download came from, so the address decides.
import { hears, emit } from './session.js';
import { contextOf } from './names.js';
import { firefox } from './api.js';
import { isDriven } from './driven.js';

/** What is under way, by its number. @type {Map<number, {context: string, navigation: string, url: string}>} */
const running = new Map();

/** @param {any} item */
export async function onCreated(item) {
  if (!hears('browsingContext.downloadWillBegin') && !hears('browsingContext.downloadEnd')) return;
  const tabId = await tabFor(item);
  // What the person fetches in other tabs is theirs.
  if (tabId === undefined || !isDriven(tabId)) return;
  const context = contextOf(tabId);
  const navigation = crypto.randomUUID();
  running.set(item.id, { context, navigation, url: item.url });
  const suggestedFilename = item.filename.split(/[\\/]/).pop() ?? '';
  emit('browsingContext.downloadWillBegin', context, () => ({ context, navigation, timestamp: Date.now(), url: item.url, suggestedFilename }));
}

/** The tab at the page that referred to it, or else the one in front. @param {any} item */
async function tabFor({ referrer, incognito }) {
  const tabs = (await firefox.tabs.query({})).filter((/** @type {any} */ tab) => tab.incognito === incognito);
  const origin = URL.canParse(referrer) ? new URL(referrer).origin : undefined;
  const fits = (/** @type {any} */ { url }) => url === referrer || (origin !== undefined && URL.canParse(url) && new URL(url).origin === origin);
  const found = tabs.find((/** @type {any} */ { url }) => url === referrer) ?? tabs.filter(fits).sort((/** @type {any} */ one, /** @type {any} */ other) => other.lastAccessed - one.lastAccessed)[0];
  if (found) return found.id;
  const { id: inFront } = await firefox.windows.getLastFocused();
  return tabs.find((/** @type {any} */ { active, windowId }) => active && windowId === inFront)?.id;
}

/** @param {any} change */
export async function onChanged({ id, state }) {
  const known = running.get(id);
  if (!known || !state || state.current === 'in_progress') return;
  running.delete(id);
  const [item] = await firefox.downloads.search({ id });
  const isComplete = state.current === 'complete';
  emit('browsingContext.downloadEnd', known.context, () => ({
    ...known, timestamp: Date.now(), status: isComplete ? 'complete' : 'canceled', ...(isComplete && { filepath: item?.filename ?? null }),
  }));
}
