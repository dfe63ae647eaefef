// Waiting, always for a condition and always with a deadline that says what was missing.
import { setTimeout as delay } from 'node:timers/promises';

/** Calls `probe` until it returns something truthy, and returns that. */
export async function until(what, probe, ms = 10_000, every = 20) {
  const end = performance.now() + ms;
  let last;
  for (;;) {
    try {
      const value = await probe();
      if (value) return value;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) {
      throw new Error(`not within ${ms} ms: ${what}`, { cause: last });
    }
    await delay(every);
  }
}

/** The promise's outcome, or an error that names `what` after `ms`. */
export function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${ms} ms: ${what}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** How long `work` took in milliseconds, beside its result. */
export async function timed(work) {
  const start = performance.now();
  const value = await work();
  return { value, ms: performance.now() - start };
}

/** Runs `work(item)` over all items, at most `width` at once, results in order. */
export async function pooled(items, width, work) {
  const list = [...items];
  const results = new Array(list.length);
  let next = 0;
  const lane = async () => {
    while (next < list.length) {
      const i = next++;
      results[i] = await work(list[i], i);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, list.length) }, lane));
  return results;
}
