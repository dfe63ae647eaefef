// @ts-check
// The coloured group of the tabs that agents drive, one in each window. Groups that the person made,
// and tabs that the person took out of ours, are left alone.

const TITLE = 'Bowline';
const COLOUR = 'cyan';
/** Chrome refuses to move tabs while the person drags one. */
const RETRY_DELAY = 1_000;

/** Our groups; kept for the next worker, or its tabs would look like the person's. @type {Set<number>} */
let ours = new Set();
const ready = chrome.storage.session.get('groups').then(({ groups }) => {
  ours = new Set(Array.isArray(groups) ? groups : []);
});

/** Tabs that were driven the last time. @type {Set<number>} */
let before = new Set();
let tail = ready;

/** @param {Iterable<number>} driven all driven tabs */
export function groupDriven(driven) {
  const now = new Set(driven);
  tail = tail.then(() => arrange(now)).catch(() => {});
}

/** @param {Set<number>} driven */
async function arrange(driven) {
  for (const tab of await chrome.tabs.query({})) {
    const tabId = tab.id;
    if (tabId === undefined) continue;
    if (ours.has(tab.groupId) && !driven.has(tabId)) {
      await patiently(() => chrome.tabs.ungroup(tabId));
    } else if (driven.has(tabId) && !before.has(tabId) && tab.groupId === chrome.tabGroups.TAB_GROUP_ID_NONE && !tab.pinned) {
      await patiently(() => join(tabId, tab.windowId));
    }
  }
  before = driven;
}

/** @param {number} tabId @param {number} windowId */
async function join(tabId, windowId) {
  // Only normal windows have groups.
  if ((await chrome.windows.get(windowId)).type !== 'normal') return;
  const there = (await chrome.tabGroups.query({ windowId })).find(({ id }) => ours.has(id));
  if (there) {
    await chrome.tabs.group({ tabIds: [tabId], groupId: there.id });
    return;
  }
  const groupId = await chrome.tabs.group({ tabIds: [tabId], createProperties: { windowId } });
  ours.add(groupId);
  await chrome.storage.session.set({ groups: [...ours] });
  await chrome.tabGroups.update(groupId, { title: TITLE, color: COLOUR });
}

/** Once more after a while; after that the tab stays where it is, which hurts nobody. @param {() => Promise<unknown>} work */
async function patiently(work) {
  try {
    await work();
  } catch {
    await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY));
    await work().catch(() => {});
  }
}

/** @param {{id: number}} group */
export function onGroupRemoved({ id }) {
  if (ours.delete(id)) void chrome.storage.session.set({ groups: [...ours] });
}
