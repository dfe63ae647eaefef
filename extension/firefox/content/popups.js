// @ts-check
// Windows that a page opens when it is clicked. Firefox takes a click of ours for nobody's and holds them back, so as long as it
// lasts, and no longer, they are opened by the background: the page gets its tab, and something that looks like its window.
(() => {
  const parts = /** @type {any} */ (globalThis).bowlineParts;
  if (!parts) return;
  const { page, waived } = parts.worlds;
  const { cloneInto, exportFunction } = /** @type {any} */ (globalThis);

  /** Whether a name means another window than those there are. @param {string} name */
  const isNew = (name) => !/^(|_self|_parent|_top)$/i.test(name) && (/^_blank$/i.test(name) || !document.querySelector(`iframe[name="${CSS.escape(name)}"]`));

  /** @param {string} url @param {boolean} inFront */
  function open(url, inFront) {
    parts.tell('open', { url, inFront });
  }

  /** @param {string} url @returns {string | undefined} where a tab can be led to */
  function addressOf(url) {
    try {
      const { href, protocol } = new URL(url, document.baseURI);
      return protocol === 'http:' || protocol === 'https:' ? href : undefined;
    } catch {
      return undefined;
    }
  }

  /** @param {MouseEvent} event */
  function onClick(event) {
    if (event.defaultPrevented) return;
    const link = /** @type {any} */ (event.composedPath().find((one) => /^(a|area)$/i.test(/** @type {any} */ (one).localName) && /** @type {any} */ (one).href));
    if (!link) return;
    const apart = event.ctrlKey || event.metaKey || event.button === 1;
    const address = addressOf(String(link.href));
    if (!address || link.hasAttribute('download') || !(apart || event.shiftKey || isNew(link.target || document.querySelector('base[target]')?.getAttribute('target') || ''))) return;
    event.preventDefault();
    open(address, !apart);
  }

  /** What a page can ask of the window that it has opened. */
  const window_ = (/** @type {string} */ href) => cloneInto({ closed: false, opener: null, name: '', location: { href }, focus() {}, blur() {}, close() {}, postMessage() {} }, window, { cloneFunctions: true });

  /** @template T @param {() => T} work @returns {T} */
  function around(work) {
    // The person has just been here: Firefox lets it through by itself.
    if (navigator.userActivation?.isActive) return work();
    const own = page.open;
    let isOver = false;
    const ours = waived(exportFunction((/** @type {any} */ url = '', /** @type {any} */ name = '_blank', /** @type {any} */ ...more) => {
      const address = String(url) === '' ? undefined : addressOf(String(url));
      // Who keeps it for later has what the page has always had.
      if (isOver || !address || !isNew(String(name))) return Reflect.apply(own, page, [url, name, ...more]);
      open(address, true);
      return window_(address);
    }, page, { defineAs: 'open' }));
    for (const name of ['click', 'auxclick']) window.addEventListener(name, /** @type {any} */ (onClick));
    try {
      return work();
    } finally {
      isOver = true;
      for (const name of ['click', 'auxclick']) window.removeEventListener(name, /** @type {any} */ (onClick));
      if (waived(page.open) === ours) page.open = own;
    }
  }

  parts.popups = { around };
})();
