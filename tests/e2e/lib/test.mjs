// node:test with a limit on every test, so that one that hangs fails by its name.
import { afterEach, beforeEach, test as nodeTest } from 'node:test';

export const test = (name, options, body) =>
  typeof options === 'function'
    ? nodeTest(name, { timeout: 30_000 }, options)
    : nodeTest(name, { timeout: 30_000, ...options }, body);

export { afterEach, beforeEach };
