// What can be seen: one reading of the computed style per element and call, kept as bits.

/** No box at all: neither it nor anything in it is drawn. */
const NO_BOX = 1;
/** Hidden itself by `visibility`; what is inside may be shown again. */
const UNSEEN = 2;
const INLINE = 4;
const POINTER = 8;
/** Without a box of its own, its children are drawn all the same. */
const CONTENTS = 16;

/** Tags that never show anything. */
const NEVER_SHOWN = new Set(['script', 'style', 'noscript', 'template', 'head', 'meta', 'link', 'title', 'base', 'source', 'track', 'param', 'datalist']);

/** Tags whose children are a fallback or a value, and not drawn. */
const OPAQUE = new Set(['iframe', 'frame', 'textarea', 'video', 'audio', 'canvas', 'embed', 'img', 'input']);

const checkVisibility = method(Element, 'checkVisibility');

/** Three properties of one style are read faster than `checkVisibility` answers. */
function look(element) {
  let bits = cache.looks.get(element);
  if (bits !== undefined) return bits;
  const style = getComputedStyle(element);
  const display = style.display;
  // An empty display is that of an element outside the drawn tree.
  if (display === 'none' || display === '') bits = NO_BOX;
  else {
    bits = style.visibility === 'visible' ? 0 : UNSEEN;
    if (display === 'contents') bits |= CONTENTS | INLINE;
    else if (display.startsWith('inline') || display.startsWith('ruby')) bits |= INLINE;
    if (style.cursor === 'pointer') bits |= POINTER;
  }
  cache.looks.set(element, bits);
  return bits;
}

const isInline = (element) => (look(element) & INLINE) !== 0;

const isPointer = (element) => (look(element) & POINTER) !== 0;

/** Whether the element cuts off all that is inside from assistive technology (and from us). */
function isCutOff(element) {
  if (isPlain(element)) return false;
  return attribute(element, 'aria-hidden') === 'true' || hasAttribute(element, 'inert') || attribute(element, 'hidden') === 'until-found';
}

/** A closed `details` draws its summary alone. */
function isFolded(parent, child) {
  return tagOf(parent) === 'details' && !hasAttribute(parent, 'open') && child !== firstSummary(parent);
}

function firstSummary(details) {
  for (let node = firstChild(details); node; node = nextSibling(node)) {
    if (nodeType(node) === ELEMENT && tagOf(node) === 'summary') return node;
  }
  return null;
}

/** Hidden for assistive technology: not drawn, or cut off by itself or something around it. */
function isHidden(element) {
  if (look(element) & UNSEEN) return true;
  return isBuried(element);
}

function isBuried(element) {
  const known = cache.hidden.get(element);
  if (known !== undefined) return known;
  // Until it is known otherwise, so that a loop of slots could not turn into one of ours.
  cache.hidden.set(element, false);
  let buried = NEVER_SHOWN.has(tagOf(element)) || (look(element) & NO_BOX) !== 0 || isCutOff(element);
  if (!buried) {
    const parent = composedParent(element);
    // A child of a host that no slot takes is not drawn; its style says so with an empty display.
    if (parent) buried = isFolded(parent, element) || isBuried(parent);
  }
  cache.hidden.set(element, buried);
  return buried;
}

/** Visible to a person as far as layout says: a box that is not empty, and not hidden. Transparent things count. */
function isVisible(element) {
  if (!isConnected(element)) return false;
  const bits = look(element);
  if (bits & NO_BOX) return false;
  if (bits & CONTENTS) return hasVisibleChild(element);
  if (bits & UNSEEN) return false;
  const tag = tagOf(element);
  if (tag === 'option' || tag === 'optgroup') {
    const list = closest(element, 'select');
    if (list) return isVisible(list);
  }
  if (!checkVisibility(element)) return false;
  const { width, height } = boxOf(element);
  return width > 0 && height > 0;
}

function hasVisibleChild(element) {
  let found = false;
  eachChild(element, (child) => {
    if (found) return;
    if (nodeType(child) === ELEMENT) found = isVisible(child);
    else if (nodeType(child) === TEXT) found = squeeze(nodeValue(child)) !== '';
  });
  return found;
}

function inViewport(element) {
  const { left, top, right, bottom } = boxOf(element);
  return right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
}
