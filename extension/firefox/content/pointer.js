// @ts-check
// The mouse, made of events: what a browser does for a person's mouse is done by hand where events alone do not do it. The events
// are not trusted; that is the one thing that a page can tell.
(() => {
  const parts = /** @type {any} */ (globalThis).bowlineParts;
  if (!parts) return;
  const { at, focusableAround, isTextField } = parts.targets;
  const { send } = parts.trust;
  const { page, plain } = parts.worlds;

  /** Two presses within these are a double click. */
  const CLICK_TIME = 500;
  const CLICK_WAY = 3;
  /** A press that has gone this far is a drag. */
  const DRAG_WAY = 4;
  const BITS = [1, 4, 2, 8, 16];

  /** The element under the mouse. @type {Element | null} */
  let over = null;
  /** @type {{element: Element, x: number, y: number, button: number} | undefined} */
  let pressed;
  /** @type {{time: number, x: number, y: number, count: number}} */
  let clicks = { time: 0, x: 0, y: 0, count: 0 };
  /** `source` is not there for what is dragged into this frame from outside. @type {{source: Element | undefined, data: DataTransfer, target: Element | null, allowed: boolean, calledOff?: boolean} | undefined} */
  let dragged;

  /** Where the page's corner is on the screen, Firefox alone says. @type {any} */
  const corner = window;

  /** @param {any} act @param {any} more */
  const init = (act, more) => ({
    view: window, bubbles: true, cancelable: true, composed: true, clientX: act.x, clientY: act.y, screenX: act.x + corner.mozInnerScreenX, screenY: act.y + corner.mozInnerScreenY,
    ctrlKey: act.keys.ctrl, shiftKey: act.keys.shift, altKey: act.keys.alt, metaKey: act.keys.meta, buttons: act.buttons, ...more,
  });

  /** @param {Element} target @param {string} name @param {any} act @param {any} [more] whether it was not prevented */
  function fire(target, name, act, more = {}) {
    const isPointer = name.startsWith('pointer') || /^(click|auxclick|contextmenu)$/.test(name);
    const options = init(act, { ...more, ...(isPointer && { pointerId: 1, isPrimary: true, pointerType: act.pointerType ?? 'mouse', width: 1, height: 1, pressure: act.buttons ? 0.5 : 0 }) });
    return send(target, isPointer ? new PointerEvent(name, options) : new MouseEvent(name, options));
  }

  /** @param {Element | null} element @returns {Element[]} the element and what it is in */
  function line(element) {
    const found = [];
    for (let one = /** @type {any} */ (element); one; one = one.parentElement ?? one.getRootNode().host) found.push(one);
    return found;
  }

  /** @param {any} act @param {Element | null} target */
  function enter(act, target) {
    if (over === target) return;
    const before = line(over?.isConnected ? over : null);
    const after = line(target);
    if (before[0]) {
      for (const name of ['pointerout', 'mouseout']) fire(before[0], name, act, { relatedTarget: target, button: -Number(name[0] === 'p') });
      for (const one of before) if (!after.includes(one)) for (const name of ['pointerleave', 'mouseleave']) fire(one, name, act, { bubbles: false, cancelable: false, relatedTarget: target });
    }
    if (target) {
      for (const name of ['pointerover', 'mouseover']) fire(target, name, act, { relatedTarget: over, button: -Number(name[0] === 'p') });
      for (const one of after.reverse()) if (!before.includes(one)) for (const name of ['pointerenter', 'mouseenter']) fire(one, name, act, { bubbles: false, cancelable: false, relatedTarget: over });
    }
    over = target;
  }

  /** @param {any} act */
  function move(act) {
    const target = at(act.x, act.y);
    take(act);
    if (dragged) return drag(act, target);
    enter(act, target);
    fire(target, 'pointermove', act, { button: -1 });
    fire(target, 'mousemove', act);
    if (pressed?.button === 0 && Math.hypot(act.x - pressed.x, act.y - pressed.y) > DRAG_WAY) begin(act);
    return undefined;
  }

  /** @param {any} act */
  function down(act) {
    const target = at(act.x, act.y);
    enter(act, target);
    const isSame = act.time - clicks.time < CLICK_TIME && Math.hypot(act.x - clicks.x, act.y - clicks.y) <= CLICK_WAY;
    clicks = { time: act.time, x: act.x, y: act.y, count: isSame ? clicks.count + 1 : 1 };
    act.buttons |= BITS[act.button];
    pressed = { element: target, x: act.x, y: act.y, button: act.button };
    // Once the pointer's event is prevented, the mouse has none.
    const goesOn = fire(target, 'pointerdown', act, { button: act.button, detail: 0 })
      && fire(target, 'mousedown', act, { button: act.button, detail: clicks.count });
    if (goesOn) focus(target, act);
    if (act.button === 2) fire(target, 'contextmenu', act, { button: 2, detail: 1 });
  }

  /** What a press does by itself: the focus, the caret, the selection. @param {any} target @param {any} act */
  function focus(target, act) {
    const wanted = focusableAround(target);
    const now = parts.targets.focused();
    if (wanted) wanted.focus({ preventScroll: true });
    else if (now !== document.body && !target.closest?.('label')) now?.blur?.();
    if (act.button !== 0) return;
    if (isTextField(wanted)) return place(wanted, act);
    if (wanted?.localName === 'button' || wanted?.localName === 'select') return;
    const selection = getSelection();
    const caret = document.caretPositionFromPoint?.(act.x, act.y);
    if (!selection || !caret?.offsetNode || isTextField(caret.offsetNode)) return;
    if (act.keys.shift) selection.extend(caret.offsetNode, caret.offset);
    else selection.collapse(caret.offsetNode, caret.offset);
    if (clicks.count === 2) {
      selection.modify('move', 'backward', 'word');
      selection.modify('extend', 'forward', 'word');
    } else if (clicks.count === 3) {
      selection.selectAllChildren(target);
    }
  }

  /** @param {any} field @param {any} act */
  function place(field, act) {
    if (clicks.count === 3) return field.select();
    try {
      const caret = document.caretPositionFromPoint?.(act.x, act.y);
      const offset = caret?.offsetNode === field ? caret?.offset ?? 0 : field.value.length;
      if (clicks.count === 2) {
        const before = /\w*$/.exec(field.value.slice(0, offset))?.[0].length ?? 0;
        const behind = /^\w*/.exec(field.value.slice(offset))?.[0].length ?? 0;
        field.setSelectionRange(offset - before, offset + behind);
      } else {
        field.setSelectionRange(offset, offset);
      }
    } catch {
      // Fields of numbers have no selection.
    }
  }

  /** @param {any} act */
  function up(act) {
    const target = at(act.x, act.y);
    act.buttons &= ~BITS[act.button];
    take(act);
    if (dragged) return drop(act, target);
    enter(act, target);
    const from = pressed;
    pressed = undefined;
    fire(target, 'pointerup', act, { button: act.button });
    fire(target, 'mouseup', act, { button: act.button, detail: clicks.count });
    if (from?.button !== act.button) return undefined;
    // A click is of what press and release have in common.
    const both = line(from?.element ?? null);
    const common = line(target).find((one) => both.includes(one));
    if (!common || !common.isConnected) return undefined;
    if (/** @type {any} */ (common).disabled) return undefined;
    const detail = clicks.count;
    if (act.button !== 0) {
      fire(common, 'auxclick', act, { button: act.button, detail });
      return undefined;
    }
    click(common, act, detail);
    if (detail === 2) fire(common, 'dblclick', act, { button: 0, detail: 2 });
    return undefined;
  }

  /** The event brings what it does along: links, buttons, boxes and labels follow it. @param {any} element @param {any} act @param {number} detail */
  function click(element, act, detail) {
    fire(element, 'click', act, { button: 0, detail });
  }

  /** @param {any} act */
  function begin(act) {
    const source = line(pressed?.element ?? null).find((one) => /** @type {any} */ (one).draggable);
    if (!source || !pressed) return;
    // In the page's world: what is put in from ours the page cannot read.
    const data = new page.DataTransfer();
    if (source.localName === 'a') data.setData('text/uri-list', /** @type {any} */ (source).href);
    dragged = { source, data, target: null, allowed: false };
    if (!dragFire(source, 'dragstart', { ...act, x: pressed.x, y: pressed.y })) {
      dragged = undefined;
      return;
    }
    fire(source, 'pointercancel', act);
    drag(act, at(act.x, act.y));
  }

  /** @param {Element} target @param {string} name @param {any} act */
  const dragFire = (target, name, act) => send(target, new DragEvent(name, { ...init(act, {}), dataTransfer: dragged?.data }));

  /** @param {any} act @param {Element} target */
  function drag(act, target) {
    if (!dragged) return;
    if (dragged.source) dragFire(dragged.source, 'drag', act);
    if (target !== dragged.target) {
      dragFire(target, 'dragenter', act);
      if (dragged.target?.isConnected) dragFire(dragged.target, 'dragleave', act);
      dragged.target = target;
    }
    dragged.allowed = !dragFire(target, 'dragover', act);
  }

  /** @param {any} act @param {Element} target */
  function drop(act, target) {
    if (!dragged) return;
    if (!dragged.calledOff) drag(act, target);
    if (dragged.allowed && !dragged.calledOff) dragFire(target, 'drop', act);
    else dragFire(target, 'dragleave', act);
    if (dragged.source?.isConnected) dragFire(dragged.source, 'dragend', act);
    dragged = undefined;
    pressed = undefined;
  }

  /** What is dragged will not be dropped. */
  function letGo() {
    if (dragged) dragged.calledOff = true;
  }

  /** What is dragged from here, for a frame that the pointer has come into. */
  function cargo() {
    if (!dragged?.source) return undefined;
    const data = plain(dragged.data);
    return Array.from(data.types, (type) => [type, data.getData(type)]);
  }

  /** What comes from outside, or has gone there. @param {any} act */
  function take(act) {
    if (act.cargo && !dragged) {
      const data = new page.DataTransfer();
      for (const [type, text] of act.cargo) data.setData(type, text);
      dragged = { source: undefined, data, target: null, allowed: false };
    } else if (!act.cargo && dragged && !dragged.source) {
      dragged = undefined;
    }
  }

  /** The drag goes on in a frame inside. @param {any} act */
  function away(act) {
    if (!dragged?.source) return;
    if (dragged.target?.isConnected) dragFire(dragged.target, 'dragleave', act);
    dragged.target = null;
    dragFire(dragged.source, act.kind === 'up' ? 'dragend' : 'drag', act);
    if (act.kind !== 'up') return;
    dragged = undefined;
    pressed = undefined;
  }

  /** @param {any} act */
  function wheel(act) {
    const target = at(act.x, act.y);
    const goesOn = send(target, new WheelEvent('wheel', init(act, { deltaX: act.deltaX, deltaY: act.deltaY, deltaMode: 0 })));
    if (goesOn) scroll(target, act.deltaX, act.deltaY);
  }

  /** The nearest that can go there, as a wheel does it. @param {Element} target @param {number} dx @param {number} dy */
  function scroll(target, dx, dy) {
    for (const one of line(target)) {
      const root = one === document.documentElement || one === document.body;
      const { overflowX, overflowY } = getComputedStyle(one);
      const scrolls = (/** @type {string} */ how) => root || /auto|scroll/.test(how);
      const before = [one.scrollLeft, one.scrollTop];
      if ((dx !== 0 && scrolls(overflowX)) || (dy !== 0 && scrolls(overflowY))) one.scrollBy({ left: dx, top: dy, behavior: 'instant' });
      if (one.scrollLeft !== before[0] || one.scrollTop !== before[1]) return;
    }
    (document.scrollingElement ?? window).scrollBy({ left: dx, top: dy, behavior: 'instant' });
  }

  parts.pointer = { move, down, up, wheel, scroll, cargo, letGo, away };
})();
