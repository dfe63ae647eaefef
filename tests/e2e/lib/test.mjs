// node:test with a limit on every test, so that one that hangs fails by its name.
import { afterEach, beforeEach, test as nodeTest } from 'node:test';
import { whyNot } from './cannot.mjs';

const LIMIT = 30_000;

export const test = (name, options, body) => {
  const [settings, run] = typeof options === 'function' ? [{}, options] : [options, body];
  const cannot = whyNot(name);
  if (!cannot) return nodeTest(name, { timeout: LIMIT, ...settings }, run);
  const skip = cannot.skip && cannot.reason;
  return nodeTest(`${name} (cannot: ${cannot.reason})`, { timeout: LIMIT, skip, ...settings }, failing(name, run));
};

/** What cannot work must not: a check that passes one day is to be taken off the list. */
const failing = (name, run) => async (context) => {
  try {
    await run(context);
  } catch {
    return;
  }
  throw new Error(`"${name}" works in this browser now: take it off the list in lib/cannot.mjs`);
};

export { afterEach, beforeEach };
