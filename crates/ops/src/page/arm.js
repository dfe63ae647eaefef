// Whether an input that the hub sends reaches the element it is meant for: listeners that see it before the page does.

const POINTER_EVENTS = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'auxclick', 'dblclick', 'contextmenu', 'touchstart', 'touchend'];
const HOVER_EVENTS = ['pointermove', 'mousemove', 'pointerover', 'mouseover'];

/** Before the page's own listeners, and able to keep an event from them. */
const CAPTURE = { capture: true, passive: false };

let armed = null;

/** With `block`, events that miss the element do not reach the page either. */
function armElement({ ref, events, block = false }) {
  return withElement(ref, (element) => {
    disarm();
    const state = { arrived: false, hit: false, by: '' };
    const types = Array.isArray(events) ? events.slice(0, 30) : events === 'hover' ? HOVER_EVENTS : POINTER_EVENTS;
    const notice = (event) => {
      if (!event.isTrusted) return;
      if (!state.arrived) {
        const path = event.composedPath();
        const target = path.find(isElementOrNothing);
        forget();
        state.arrived = true;
        state.hit = path.includes(element) || Boolean(target && meets(element, target));
        state.by = target && !state.hit ? inWords(target) : '';
      }
      if (block && !state.hit) {
        event.preventDefault();
        event.stopImmediatePropagation();
      }
    };
    for (const type of types) addEventListener(type, notice, CAPTURE);
    const remove = () => {
      for (const type of types) removeEventListener(type, notice, CAPTURE);
    };
    // Nobody may ask for the verdict: the page is not to carry the listeners for ever.
    armed = { state, remove, timer: setTimeout(disarm, 10_000) };
    return { armed: true };
  });
}

const isElementOrNothing = (node) => node instanceof Element;

function takeVerdict() {
  const state = armed?.state ?? { arrived: false, hit: false, by: '' };
  disarm();
  return { arrived: state.arrived, hit: state.hit, ...(state.by && { by: state.by }) };
}

function disarm() {
  if (!armed) return;
  clearTimeout(armed.timer);
  armed.remove();
  armed = null;
}
