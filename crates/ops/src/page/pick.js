// A person points at an element: what is under the mouse is outlined, a click chooses, Escape cancels.

let picking = null;

const SWALLOWED = ['pointerdown', 'pointerup', 'mousedown', 'mouseup', 'click', 'dblclick', 'auxclick', 'contextmenu', 'touchstart', 'touchend'];

function pickElement({ next, message = 'Click an element, or press Escape to cancel.' }) {
  reserve(next);
  unpick();
  return new Promise((resolve) => {
    // The overlay itself takes the mouse, so that the page never sees a click on what is chosen.
    const overlay = makeOverlay('pointer-events: auto; cursor: crosshair;');
    const frame = drawBox(overlay.shadow, { x: 0, y: 0, width: 0, height: 0 }, { colour: '#1f5fd6', label: ' ', fill: 'rgba(31, 95, 214, 0.12)' });
    const tag = /** @type {HTMLElement} */ (frame.firstChild);
    drawMessage(overlay.shadow, message);
    let chosen = null;
    const under = (event) => {
      overlay.host.style.pointerEvents = 'none';
      const element = elementAt(event.clientX, event.clientY);
      overlay.host.style.pointerEvents = 'auto';
      return element;
    };
    const show = (event) => {
      if (!event.isTrusted) return;
      const element = under(event);
      if (!element || element === chosen) return;
      chosen = element;
      const { x, y, width, height } = boxOf(element);
      Object.assign(frame.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
      forget();
      tag.style.top = y >= 14 ? '-15px' : '-1px';
      tag.textContent = cut(`${roleOf(element)} ${nameOf(element)}`, 60);
    };
    const swallow = (event) => {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (event.type !== 'click' || !event.isTrusted) return;
      const element = under(event);
      end(element ? { ...describeAfresh(element), next: nextRef } : { cancelled: true });
    };
    const keys = (event) => {
      if (event.key !== 'Escape') return;
      event.preventDefault();
      event.stopImmediatePropagation();
      end({ cancelled: true });
    };
    const each = (change) => {
      for (const type of ['pointermove', 'mousemove']) change(type, show, CAPTURE);
      for (const type of SWALLOWED) change(type, swallow, CAPTURE);
      change('keydown', keys, CAPTURE);
    };
    each(addEventListener);
    const end = (answer) => {
      if (picking?.end !== end) return;
      picking = null;
      each(removeEventListener);
      overlay.remove();
      resolve(answer);
    };
    picking = { end };
  });
}

function describeAfresh(element) {
  forget();
  return describeElement(element);
}

function drawMessage(shadow, message) {
  const note = newElement('div');
  note.textContent = cut(String(message), 200);
  note.style.cssText = 'position: absolute; left: 50%; top: 12px; transform: translateX(-50%); background: #1f2937; color: #fff; '
    + 'font: 14px/20px sans-serif; padding: 6px 14px; border-radius: 6px; box-shadow: 0 2px 8px rgba(0, 0, 0, 0.4); pointer-events: none;';
  shadow.appendChild(note);
}

function unpick() {
  picking?.end({ cancelled: true });
  return { done: true };
}
