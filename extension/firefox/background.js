// @ts-check
// The background of Firefox: it stays as long as the browser does. Listeners are put in their places, and the relay is started;
// the hub at its other end speaks WebDriver BiDi with us.
import { firefox, Refusal } from './api.js';
import { showBadge } from '../badge.js';
import { groupDriven, onGroupRemoved } from '../groups.js';
import * as relay from '../relay.js';
import { changePolicy, onPolicy, ready, settings } from '../settings.js';
import * as view from '../view.js';
import * as chosen from './chosen.js';
import * as contexts from './contexts.js';
import * as downloads from './downloads.js';
import * as drivenTabs from './driven.js';
import * as guard from './guard.js';
import * as input from './input.js';
import * as links from './links.js';
import * as log from './log.js';
import { placeOf } from './names.js';
import * as navigation from './navigation.js';
import * as network from './network.js';
import * as policies from './policies.js';
import * as prompts from './prompts.js';
import { run } from './remote.js';
import * as script from './script.js';
import * as session from './session.js';

/** For frames to undo what they have hooked. */
const RESTORE_TIME = 1_000;

const { downloads: files, runtime, permissions, tabGroups, tabs, webNavigation } = firefox;

tabs.onCreated.addListener(contexts.onCreated);
tabs.onAttached.addListener(contexts.onAttached);
for (const part of [contexts, chosen, input, navigation, prompts, drivenTabs]) tabs.onRemoved.addListener(part.onRemoved);
webNavigation.onCreatedNavigationTarget.addListener(contexts.onCreatedNavigationTarget);
for (const name of /** @type {const} */ (['onBeforeNavigate', 'onCommitted', 'onDOMContentLoaded', 'onCompleted', 'onErrorOccurred', 'onReferenceFragmentUpdated', 'onHistoryStateUpdated'])) {
  webNavigation[name].addListener(navigation[name]);
}
files?.onCreated.addListener(downloads.onCreated);
files?.onChanged.addListener(downloads.onChanged);
for (const event of [tabs.onCreated, tabs.onUpdated, tabs.onRemoved, tabs.onActivated]) event.addListener(() => view.refresh());
tabGroups?.onRemoved.addListener(onGroupRemoved);
permissions.onAdded.addListener(view.onPermissionAdded);
runtime.onConnect.addListener((/** @type {any} */ port) => {
  if (port.name === 'popup') view.onConnect(port);
  else links.onConnect(port);
});

// A new version waits until pages have their own functions back: those of ours that are left in a page die with us, and would throw.
runtime.onUpdateAvailable?.addListener(async () => {
  await session.end();
  setTimeout(() => runtime.reload(), RESTORE_TIME);
});

links.listen({
  mayEval: policies.mayEval,
  isDriven: drivenTabs.isDriven,
  isCalledOff: input.isCalledOff,
  gone: prompts.onGone,
  event(link, event, params) {
    if (event === 'waits') return prompts.onWaits(link, params);
    if (!drivenTabs.isDriven(link.tabId)) return;
    if (event === 'log') log.onEntry(link, params);
    else if (event === 'message') script.onMessage(link, params);
    else if (event === 'open') void contexts.openFor(link.tabId, params);
  },
});

/** Changes of the session are carried out one after the other. */
let order = Promise.resolve();
let wasThere = false;
/** The tabs whose open pages have been entered, and what for. @type {Map<number, string>} */
const entered = new Map();

function inOrder(/** @type {() => Promise<void>} */ work) {
  order = order.then(work).catch(() => {});
  return order;
}

session.onChange(() => inOrder(adapt));
drivenTabs.onChange(() => inOrder(adapt));
onPolicy(() => inOrder(adapt));
script.onSandboxed(() => inOrder(adapt));

async function adapt() {
  const isThere = session.hasSession();
  prompts.update();
  network.update();
  policies.watch(isThere && drivenTabs.isAny());
  if (!isThere) {
    wasThere = false;
    entered.clear();
    await script.endPreloads();
    await links.leave();
    contexts.forget();
    navigation.endFreshness();
    guard.end();
    drivenTabs.forget();
    return;
  }
  const isBusy = drivenTabs.isAny();
  const isOther = await links.enter({ log: isBusy && session.hears('log.entryAdded'), prompts: isBusy ? prompts.address() : '' }, script.hasSandboxed());
  if (isOther) await script.preloadAgain();
  if (!wasThere) {
    wasThere = true;
    links.begin();
    await Promise.all([chosen.ready, contexts.load()]);
  }
  links.rehook();
  // Pages that are open already are hooked as soon as an agent comes, or wants to hear of them.
  const wanted = `${session.hears('log.entryAdded')} ${prompts.address()}`;
  const news = drivenTabs.all().filter((tabId) => entered.get(tabId) !== wanted);
  for (const tabId of news) entered.set(tabId, wanted);
  await links.enterOpen(news);
}

let driven = 0;
/** The hub has been gone for so long that it has let go, too. */
let letGo = false;

function show() {
  showBadge(relay.status, { hub: settings.hub, paused: settings.policy.paused, driven });
  view.refresh();
}

/** @param {{context: string, clients: string[]}[]} drivers */
function drive(drivers) {
  const clients = new Map(drivers.filter((one) => one.clients.length > 0).map((one) => [placeOf(one.context).tabId, one.clients]));
  driven = clients.size;
  drivenTabs.tell(new Set(clients.keys()));
  groupDriven(clients.keys());
  view.showDrivers(clients);
  show();
}

/** @param {any} message @param {import('../relay.js').Connection} connection */
function obey({ id, method, params }, connection) {
  if (method === 'ping') {
    connection.reply('{"method":"pong"}');
  } else if (method === 'drivers') {
    drive(params.tabs ?? []);
  } else if (id !== undefined) {
    const asked = method === 'bidi' ? run(params.method, params.params ?? {}) : Promise.reject(new Refusal('unknown command', `This extension does not know the command ${method}.`));
    asked.then(
      (result) => connection.reply(`{"id":${id},"result":${JSON.stringify(result)}}`),
      (error) => connection.reply(JSON.stringify({ id, error: JSON.stringify({ error: error.error ?? 'unknown error', message: String(error.message ?? error) }) })),
    );
  }
}

view.begin({
  ready: chosen.ready,
  listTabs: chosen.listTabs,
  choose: chosen.choose,
  // There is no debugger to be taken from a tab: who is not to be in it is told by the choice.
  take: async () => {},
  attached: () => [],
  async resume() {
    await changePolicy({ paused: false });
    relay.tell('policy', settings.policy);
    relay.tell('resumed', {});
  },
});

relay.start({
  obey,
  hello: { speaks: 'bidi' },
  changed: show,
  async state(send) {
    await Promise.all([ready, chosen.ready]);
    letGo = false;
    send({ policy: settings.policy, tabs: [], session: session.hasSession() ? 'kept' : 'fresh' });
  },
  lost() {
    if (letGo) return;
    letGo = true;
    drive([]);
    void session.end();
  },
});
