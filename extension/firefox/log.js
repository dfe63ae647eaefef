// @ts-check
// What pages say in their consoles, and the errors that they do not catch.
import { contextOf } from './names.js';
import { emit } from './session.js';

/** @param {{tabId: number, frameId: number}} link @param {any} entry */
export function onEntry({ tabId, frameId }, entry) {
  const context = contextOf(tabId, frameId);
  emit('log.entryAdded', context, () => ({ ...entry, source: { realm: `${context}:page`, context } }));
}
