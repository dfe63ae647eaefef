// @ts-check
// Firefox's own names for what extensions may do: the types at hand are Chrome's, which has not all of them.
import '../promises.js';

/** @type {any} */
export const firefox = chrome;

/** Whether requests can be held and looked into: Safari's extensions cannot. */
export const canHold = firefox.runtime.getManifest().permissions.includes('webRequestBlocking');

/** What a command was not done for: a code of WebDriver BiDi, and words. */
export class Refusal extends Error {
  /** @param {string} error @param {string} message */
  constructor(error, message) {
    super(message);
    this.error = error;
  }
}

/** @param {string} message */
export const unsupported = (message) => new Refusal('unsupported operation', message);
/** @param {string} message */
export const invalid = (message) => new Refusal('invalid argument', message);
