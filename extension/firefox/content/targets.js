// @ts-check
// Where input goes: the element at a point or with the focus, and the frame that it is, if it is one.
(() => {
  const parts = /** @type {any} */ (globalThis).bowlineParts;
  if (!parts) return;

  /** The element at a point, through shadow trees, closed ones as well. @param {number} x @param {number} y @returns {Element} */
  function at(x, y) {
    /** @type {any} */
    let found = document.elementFromPoint(x, y) ?? document.body ?? document.documentElement;
    for (;;) {
      const inner = found?.openOrClosedShadowRoot?.elementFromPoint(x, y);
      if (!inner || inner === found) return found;
      found = inner;
    }
  }

  /** @returns {any} */
  function focused() {
    /** @type {any} */
    let found = document.activeElement ?? document.body ?? document.documentElement;
    for (;;) {
      const inner = found?.openOrClosedShadowRoot?.activeElement;
      if (!inner) return found;
      found = inner;
    }
  }

  /** @param {any} element */
  const isFrame = (element) => element instanceof HTMLIFrameElement || /^(frame|object|embed)$/.test(element?.localName) && element.contentWindow;

  /** The frame behind an element, and a point of this document in its own measure. @param {any} element @param {number} [x] @param {number} [y] */
  function into(element, x = 0, y = 0) {
    const frameId = parts.frameIdOf(element.contentWindow ?? element);
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    // A frame that is drawn smaller has its own measure inside.
    const scale = box.width > 0 && element.offsetWidth > 0 ? box.width / element.offsetWidth : 1;
    return {
      frameId,
      x: (x - box.left) / scale - element.clientLeft - parseFloat(style.paddingLeft),
      y: (y - box.top) / scale - element.clientTop - parseFloat(style.paddingTop),
    };
  }

  const FOCUSABLE = 'a[href], area[href], button, input:not([type=hidden]), select, textarea, iframe, summary, [tabindex], [contenteditable=""], [contenteditable=true], audio[controls], video[controls]';

  /** @param {any} element */
  const canFocus = (element) => element.matches?.(FOCUSABLE) && !element.disabled && !element.inert;

  /** The nearest element that a press on this one gives the focus to. @param {any} element */
  function focusableAround(element) {
    for (let found = element; found; found = found.parentElement ?? found.getRootNode?.().host) {
      if (canFocus(found)) return found;
      // A press on a label goes to its control by the click.
      if (found.localName === 'label') return undefined;
    }
    return undefined;
  }

  /** Elements in the order of the Tab key. */
  function tabOrder() {
    /** @type {any[]} */
    const found = [];
    /** @param {any} root */
    const walk = (root) => {
      for (const element of root.querySelectorAll('*')) {
        if (canFocus(element) && element.tabIndex >= 0 && (element.checkVisibility?.({ visibilityProperty: true }) ?? true)) found.push(element);
        if (element.openOrClosedShadowRoot) walk(element.openOrClosedShadowRoot);
      }
    };
    walk(document);
    const rank = (/** @type {any} */ element) => element.tabIndex || Infinity;
    // Of a group of radio buttons only the checked one.
    const stops = found.filter((element) => element.type !== 'radio' || element.checked || !found.some((other) => other.type === 'radio' && other.name === element.name && other.form === element.form && other.checked));
    return stops.map((element, order) => ({ element, order })).sort((one, other) => rank(one.element) - rank(other.element) || one.order - other.order).map(({ element }) => element);
  }

  const TEXTS = /^(text|search|url|tel|email|password|number|date|time|month|week|datetime-local)$/;
  /** @param {any} element */
  const isTextField = (element) => element?.localName === 'textarea' || (element?.localName === 'input' && TEXTS.test(element.type));
  /** @param {any} element */
  const isEditable = (element) => (isTextField(element) && !element.readOnly && !element.disabled) || Boolean(element?.isContentEditable) || document.designMode === 'on';

  parts.targets = { at, focused, isFrame, into, focusableAround, tabOrder, isTextField, isEditable };
})();
