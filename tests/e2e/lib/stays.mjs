// The opposite of waiting: for a while, something that must not happen does not.
import { setTimeout as delay } from 'node:timers/promises';

/** Fails at the first moment within `ms` at which `probe` does not hold. */
export async function stays(what, probe, ms, every = 50) {
  const begun = performance.now();
  do {
    if (!(await probe())) {
      throw new Error(`ended after ${Math.round(performance.now() - begun)} ms: ${what}`);
    }
    await delay(every);
  } while (performance.now() - begun < ms);
}
