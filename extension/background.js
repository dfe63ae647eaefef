// @ts-check
// The service worker: every listener of Chrome is put in its place here, at once and synchronously,
// because Chrome wakes the worker only for those that were there in its first moment.
import { showBadge } from './badge.js';
import { obey, onDrivers } from './commands.js';
import * as debuggers from './debuggers.js';
import { groupDriven, onGroupRemoved } from './groups.js';
import * as relay from './relay.js';
import { settings } from './settings.js';
import * as tabs from './tabs.js';
import * as view from './view.js';

const ALARM = 'wake';

chrome.debugger.onEvent.addListener(debuggers.onEvent);
chrome.debugger.onDetach.addListener(debuggers.onDetach);

chrome.tabs.onCreated.addListener(tabs.onCreated);
chrome.tabs.onUpdated.addListener(debuggers.onUpdated);
chrome.tabs.onUpdated.addListener(tabs.onUpdated);
chrome.tabs.onRemoved.addListener(tabs.onRemoved);
chrome.tabs.onReplaced.addListener(tabs.onReplaced);
chrome.tabs.onActivated.addListener(tabs.onActivated);
chrome.tabs.onMoved.addListener(tabs.onMoved);
chrome.tabs.onAttached.addListener(tabs.onAttached);
chrome.webNavigation.onCreatedNavigationTarget.addListener(tabs.onCreatedNavigationTarget);
for (const event of [chrome.tabs.onCreated, chrome.tabs.onUpdated, chrome.tabs.onRemoved, chrome.tabs.onActivated]) {
  event.addListener(() => view.refresh());
}
chrome.tabGroups.onRemoved.addListener(onGroupRemoved);

chrome.runtime.onConnect.addListener(view.onConnect);
chrome.permissions.onAdded.addListener(view.onPermissionAdded);

// Chrome starts the worker for these; that it runs is all that is wanted.
chrome.runtime.onStartup.addListener(() => {});
chrome.runtime.onInstalled.addListener(() => {});
chrome.alarms.onAlarm.addListener(() => relay.wake());
void chrome.alarms.create(ALARM, { periodInMinutes: 0.5 });

let driven = 0;
/** The hub has been gone for so long that its tabs are nobody's. */
let letGo = false;

function show() {
  showBadge(relay.status, { hub: settings.hub, paused: settings.policy.paused, driven });
  view.refresh();
}

/** @param {{tabId: number, clients: string[]}[]} drivers */
function drive(drivers) {
  const clients = new Map(drivers.filter((one) => one.clients.length > 0).map((one) => [one.tabId, one.clients]));
  driven = clients.size;
  groupDriven(clients.keys());
  view.showDrivers(clients);
  show();
}

debuggers.onChange(show);
onDrivers(drive);

view.begin({ ready: tabs.ready, listTabs: tabs.listTabs, choose: tabs.choose, take: debuggers.take, attached: () => debuggers.attached, resume: debuggers.resume });
relay.start({
  obey,
  changed: show,
  state: (send) => tabs.inOrder(async () => {
    letGo = false;
    await debuggers.ready;
    send({ policy: settings.policy, tabs: await tabs.tabsOfState() });
  }),
  lost() {
    if (letGo) return;
    letGo = true;
    drive([]);
    for (const tabId of debuggers.attached) void debuggers.take(tabId, 'worker');
  },
});
