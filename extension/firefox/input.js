// @ts-check
// input.performActions: the sources' actions become ticks, which our script in the frame carries out. What is held stays held for
// the next time, also in another document.
import { invalid, unsupported } from './api.js';
import { living } from './contexts.js';
import { ask } from './links.js';

/** @typedef {{keys: {shift: boolean, ctrl: boolean, alt: boolean, meta: boolean}, pointers: Record<string, {x: number, y: number, buttons: number}>}} State */

/** By tabs. @type {Map<number, State>} */
const states = new Map();
/** What was pressed and not released, in order, by tabs. @type {Map<number, any[]>} */
const held = new Map();

/** How many performances there were; and by tabs, up to which they are called off. */
let last = 0;
/** @type {Map<number, number>} */
const calledOff = new Map();

/** Whether what a performance holds has been let go meanwhile. @param {number} tabId @param {number} number */
export const isCalledOff = (tabId, number) => number <= (calledOff.get(tabId) ?? 0);

const newState = () => ({ keys: { shift: false, ctrl: false, alt: false, meta: false }, pointers: {} });

/** @param {any} source @param {any} action */
function actOf(source, action) {
  switch (action.type) {
    case 'pause': return undefined;
    case 'keyDown': return { kind: 'key', type: 'down', value: action.value };
    case 'keyUp': return { kind: 'key', type: 'up', value: action.value };
    case 'pointerMove': return { kind: 'move', source: source.id, x: action.x, y: action.y, origin: action.origin, pointerType: source.parameters?.pointerType };
    case 'pointerDown': return { kind: 'down', source: source.id, button: action.button, pointerType: source.parameters?.pointerType };
    case 'pointerUp': return { kind: 'up', source: source.id, button: action.button, pointerType: source.parameters?.pointerType };
    case 'scroll': return { kind: 'wheel', source: source.id, x: action.x, y: action.y, origin: action.origin, deltaX: action.deltaX, deltaY: action.deltaY };
    default: throw invalid(`There is no action ${action.type}.`);
  }
}

/** @param {any[]} sources */
function ticksOf(sources) {
  const length = Math.max(0, ...sources.map(({ actions }) => actions.length));
  return Array.from({ length }, (_, at) => {
    const now = sources.filter(({ actions }) => at < actions.length).map((source) => ({ source, action: source.actions[at] }));
    return {
      duration: Math.max(0, ...now.map(({ action }) => action.duration ?? 0)),
      acts: now.map(({ source, action }) => actOf(source, action)).filter((act) => act !== undefined),
    };
  });
}

/** @param {number} tabId @param {any[]} ticks */
function remember(tabId, ticks) {
  let pressed = held.get(tabId) ?? [];
  for (const act of ticks.flatMap(({ acts }) => acts)) {
    if (act.kind === 'down' || act.type === 'down') pressed.push(act);
    if (act.kind === 'up' || act.type === 'up') pressed = pressed.filter((one) => one.value !== act.value || one.source !== act.source || one.button !== act.button);
  }
  held.set(tabId, pressed);
}

/** @param {string} context @param {any[]} ticks */
async function perform(context, ticks) {
  const { tabId, frameId } = living(context);
  const state = states.get(tabId) ?? newState();
  remember(tabId, ticks);
  try {
    last += 1;
    const told = await ask(tabId, frameId, 'perform', { ticks, state, number: last });
    states.set(tabId, told.state);
  } catch (error) {
    // What was pressed has led away: that is not a failure.
    if (/** @type {any} */ (error).error !== 'no such frame' || ticks.length === 0) throw error;
    states.set(tabId, newState());
  }
}

/** @param {number} tabId */
export function onRemoved(tabId) {
  states.delete(tabId);
  held.delete(tabId);
  calledOff.delete(tabId);
}

/** @type {Record<string, (params: any) => Promise<object | void>>} */
export const COMMANDS = {
  async 'input.performActions'({ context, actions }) {
    if (!Array.isArray(actions)) throw invalid('`actions` is to be a list.');
    await perform(context, ticksOf(actions));
  },

  async 'input.releaseActions'({ context }) {
    const { tabId } = living(context);
    calledOff.set(tabId, last);
    const acts = (held.get(tabId) ?? []).reverse().map((act) => (act.kind === 'key' ? { ...act, type: 'up' } : { ...act, kind: 'up' }));
    await perform(context, acts.map((act) => ({ duration: 0, acts: [act] })));
    held.delete(tabId);
    states.delete(tabId);
  },

  async 'input.setFiles'({ context, element, files }) {
    const { tabId, frameId } = living(context);
    if (files.some((/** @type {any} */ file) => typeof file?.data !== 'string')) throw unsupported('An extension has no access to files by their paths: the hub sends what is in them.');
    await ask(tabId, frameId, 'setFiles', { element, files });
  },
};
