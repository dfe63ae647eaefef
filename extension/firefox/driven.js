// @ts-check
// The tabs that agents work in: those that the hub says, those that it has done something in, and those that were opened from them.
// What the others say and ask of the network is nobody's business, and their dialogs are Firefox's own. As long as there is none,
// new pages have nothing of ours.

/** @type {Set<number>} */
const touched = new Set();
/** What the hub said last. @type {Set<number>} */
let told = new Set();

/** @type {() => Promise<unknown>} */
let changed = async () => {};
/** @param {typeof changed} listener */
export function onChange(listener) {
  changed = listener;
}

/** @param {number} tabId */
export const isDriven = (tabId) => touched.has(tabId) || told.has(tabId);
export const isAny = () => touched.size > 0 || told.size > 0;
export const all = () => [...new Set([...touched, ...told])];

/** @param {number} tabId */
export async function touch(tabId) {
  const isNew = !isDriven(tabId);
  touched.add(tabId);
  if (isNew) await changed();
}

/** A tab that was opened from another one. @param {number} tabId @param {number | undefined} opener */
export function inherit(tabId, opener) {
  if (opener !== undefined && isDriven(opener)) void touch(tabId);
}

/** @param {Set<number>} now the tabs that have clients */
export function tell(now) {
  // Who is no longer in a tab has let go of it.
  for (const tabId of told) if (!now.has(tabId)) touched.delete(tabId);
  // Nobody is left to work anywhere: neither in tabs that were only looked at, nor in those that were opened from them.
  if (now.size === 0) touched.clear();
  told = now;
  void changed();
}

/** @param {number} tabId */
export function onRemoved(tabId) {
  if (touched.delete(tabId) && !isAny()) void changed();
}

export function forget() {
  touched.clear();
  told = new Set();
}
