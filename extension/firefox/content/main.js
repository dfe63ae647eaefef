// @ts-check
// The frame's end of the wire to the background: one port, commands in, answers and events out. Nothing happens here before the
// background asks, except what the hub has subscribed to; what commands need comes with the first of them (`ops.js`).
(() => {
  const own = /** @type {any} */ (globalThis);
  const { bowlineParts: parts, browser, bowlineHooks: hooks = {} } = own;
  delete own.bowlineHooks;
  if (own.bowlineIsHere) return own.bowlineIsHere();
  Object.defineProperty(own, 'bowlineIsHere', { value: () => { if (!port) connect(); } });
  // The hub's code shares this world. The extension's own powers are not for it.
  for (const name of ['browser', 'chrome']) delete own[name];
  for (const name of ['fetch', 'XMLHttpRequest', 'WebSocket']) own[name] = own.content?.[name] ?? own.window[name];

  /** @type {any} */
  let port;
  let tabId = -1;
  let next = 1;
  /** @type {Map<number, {resolve: (value: any) => void, reject: (error: Error) => void}>} */
  const asked = new Map();

  /** By which the background knows this document, also where it asks by another way than the port. */
  parts.key = parts.worlds.newId();
  parts.frameIdOf = (/** @type {any} */ target) => browser.runtime.getFrameId(target);
  parts.contextOf = (/** @type {number} */ frameId) => (frameId === 0 ? `tab-${tabId}` : `frame-${tabId}-${frameId}`);
  parts.tell = (/** @type {string} */ event, /** @type {any} */ params) => port?.postMessage({ event, params });
  /** Asks the background. */
  parts.ask = (/** @type {string} */ op, /** @type {any} */ params) => new Promise((resolve, reject) => {
    asked.set(next, { resolve, reject });
    port.postMessage({ ask: next++, op, params });
  });

  function connect() {
    port = browser.runtime.connect({ name: `frame ${parts.key}` });
    port.onMessage.addListener(receive);
    port.onDisconnect.addListener(() => {
      port = undefined;
      for (const { reject } of asked.values()) reject(new Error('the extension is gone'));
      asked.clear();
      // Without a hub the page has its own functions again.
      parts.hooks.set({});
    });
  }

  /** @param {any} message */
  async function receive(message) {
    if (message.begin) {
      ({ tabId } = message.begin);
      parts.worlds.allowEval(message.begin.mayEval);
      parts.hooks.set(message.begin.hooks);
      return;
    }
    if (message.answer !== undefined) {
      const waiting = asked.get(message.answer);
      asked.delete(message.answer);
      if (message.error) waiting?.reject(new Error(message.error));
      else waiting?.resolve(message.result);
      return;
    }
    const { id, op, params } = message;
    const answerTo = port;
    try {
      const result = await (op === 'hook' ? parts.hooks.set(params) : parts.ops[op](params));
      answerTo.postMessage({ id, result: result ?? {} });
    } catch (error) {
      const { error: code = 'unknown error', message: words } = /** @type {any} */ (Object(error));
      answerTo.postMessage({ id, error: { error: code, message: String(words ?? error) } });
    }
  }

  // A page that comes back from the cache of the history is asked again.
  window.addEventListener('pageshow', ({ persisted, isTrusted }) => {
    if (persisted && isTrusted && !port) connect();
  }, true);

  parts.hooks.set(hooks);
  connect();
})();
