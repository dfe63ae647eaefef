// @ts-check
// Input that is ours. A page is told the truth, that no person made it; the hub's own scripts beside the page wait for the hub's
// input, and for them it is as good as a person's.
(() => {
  const own = /** @type {any} */ (globalThis);
  const parts = own.bowlineParts;
  if (!parts) return;
  /** @type {WeakSet<Event>} */
  const ours = new WeakSet();
  /** What is registered in the place of a listener. @type {WeakMap<any, any>} */
  const stand = new WeakMap();

  /** @param {EventTarget} target @param {Event} event @returns {boolean} whether nobody prevented it */
  function send(target, event) {
    ours.add(event);
    return target.dispatchEvent(event);
  }

  /** @param {any} event */
  const trusted = (event) => new Proxy(event, {
    get(target, name) {
      if (name === 'isTrusted') return true;
      const value = target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

  /** @param {any} listener */
  function standFor(listener) {
    if (typeof listener !== 'function') return listener;
    let made = stand.get(listener);
    if (!made) {
      made = function (/** @type {any} */ event) {
        return listener.call(window, ours.has(event) ? trusted(event) : event);
      };
      stand.set(listener, made);
    }
    return made;
  }

  /** For the world that the hub's scripts run in. */
  function offer() {
    own.addEventListener = (/** @type {string} */ type, /** @type {any} */ listener, /** @type {any} */ options) => window.addEventListener(type, standFor(listener), options);
    own.removeEventListener = (/** @type {string} */ type, /** @type {any} */ listener, /** @type {any} */ options) => window.removeEventListener(type, standFor(listener), options);
  }

  parts.trust = { send, offer };
})();
