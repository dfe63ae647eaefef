// @ts-check
// Time in a tab behind others. Firefox lets timers there fire once a second; those of the background come when they should.
(() => {
  const own = /** @type {any} */ (globalThis);
  const parts = own.bowlineParts;
  if (!parts) return;
  const { setTimeout: start, clearTimeout: stop } = window;
  /** Longer than this, a second makes no difference. */
  const SHORT = 1_000;
  /** What has been asked of the background. @type {Set<number>} */
  const pending = new Set();
  // Firefox's own numbers are positive.
  let last = 0;

  /** @param {(...args: any[]) => void} work @param {number} [ms] @param {any[]} args */
  own.setTimeout = (work, ms = 0, ...args) => {
    if (!document.hidden || ms >= SHORT) return start.call(window, work, ms, ...args);
    last -= 1;
    const id = last;
    pending.add(id);
    const ring = () => { if (pending.delete(id)) work(...args); };
    parts.ask('wait', { ms }).then(ring, () => start.call(window, ring, ms));
    return id;
  };

  /** @param {number} id */
  own.clearTimeout = (id) => { if (!pending.delete(id)) stop.call(window, id); };
})();
