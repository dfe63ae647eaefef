// Dragging where the browser lifts and carries what is dragged and drops nothing by itself: what was lifted is noted,
// and is dropped from here. These are the only events that are not the browser's own.

let lifting = null;

/** Notes what the next drag lifts. Says whether anything at the point can be lifted. */
function watchDrag({ x, y }) {
  takeDrag();
  const state = { source: null, data: [], effect: 'uninitialized' };
  const read = (source) => (event) => {
    const { dataTransfer } = event;
    if (!event.isTrusted || !dataTransfer) return;
    state.source = event.defaultPrevented ? null : source;
    state.data = Array.from(dataTransfer.types).filter((type) => type !== 'Files').map((type) => [type, dataTransfer.getData(type)]);
    state.effect = dataTransfer.effectAllowed;
  };
  const begin = (event) => {
    if (!event.isTrusted) return;
    const source = event.composedPath()[0];
    // After the listeners of the element, and once more after those of the page: either may fill it.
    source.addEventListener('dragstart', read(source), { once: true });
    addEventListener('dragstart', read(source), { once: true });
  };
  addEventListener('dragstart', begin, { capture: true });
  lifting = { state, stop: () => removeEventListener('dragstart', begin, { capture: true }) };
  let element = elementAt(Number(x), Number(y));
  while (element && !element.draggable) element = composedParent(element);
  return { draggable: Boolean(element) };
}

/** What was lifted since. */
function takeDrag() {
  lifting?.stop();
  const { source, data, effect } = lifting?.state ?? {};
  return source ? { lifted: true, data, effect } : { lifted: false };
}

const WISHED = { none: 'none', link: 'link', linkMove: 'link', move: 'move' };

/** Drops at a point what was lifted, here or in another frame, if something there takes it. */
function dropDrag({ x, y, data, effect, enters }) {
  const target = elementAt(Number(x), Number(y)) ?? document.documentElement;
  const dataTransfer = new DataTransfer();
  for (const [type, text] of data) dataTransfer.setData(type, text);
  dataTransfer.effectAllowed = effect;
  dataTransfer.dropEffect = WISHED[effect] ?? 'copy';
  const send = (type) => !target.dispatchEvent(
    new DragEvent(type, { bubbles: true, cancelable: true, composed: true, clientX: x, clientY: y, dataTransfer }));
  if (enters) send('dragenter');
  const dropped = send('dragover') && dataTransfer.dropEffect !== 'none';
  send(dropped ? 'drop' : 'dragleave');
  return { dropped, effect: dropped ? dataTransfer.dropEffect : 'none' };
}

/** Tells the element that was lifted what became of it. */
function endDrag({ effect = 'none' }) {
  const source = lifting?.state.source;
  takeDrag();
  lifting = null;
  if (!source) return {};
  const dataTransfer = new DataTransfer();
  dataTransfer.dropEffect = /** @type {DataTransfer["dropEffect"]} */ (effect);
  source.dispatchEvent(new DragEvent('dragend', { bubbles: true, composed: true, dataTransfer }));
  return {};
}
