// Boxes and labels drawn over the page. They live in a closed shadow root in the top layer, take no clicks and
// move nothing. Styles are set as properties: a page's content security policy does not touch those.

let annotations = null;
const overlays = new Set();

const STYLE_OF_HOST = 'all: initial; position: fixed; inset: 0; width: auto; height: auto; margin: 0; padding: 0; border: 0; '
  + 'overflow: visible; background: transparent; pointer-events: none; z-index: 2147483647; display: block; color-scheme: only light;';
const COLOURS = ['#e6194b', '#0a7d33', '#1f5fd6', '#b34700', '#7a1fa2', '#00717a', '#a3006b', '#5b6600'];

/** HTML also in a document that is none, as a picture is. */
const newElement = (tag) => /** @type {HTMLElement} */ (createElementNS(document, 'http://www.w3.org/1999/xhtml', tag));

function makeOverlay(more = '') {
  const host = newElement('div');
  host.style.cssText = STYLE_OF_HOST + more;
  host.setAttribute('aria-hidden', 'true');
  const shadow = host.attachShadow({ mode: 'closed' });
  const parent = pageElement(document);
  parent.appendChild(host);
  overlays.add(host);
  try {
    // Above dialogs and other popovers of the page.
    host.popover = 'manual';
    host.showPopover();
  } catch {
    // An older browser: the highest z-index has to do.
  }
  return { host, shadow, remove: () => (overlays.delete(host), host.remove()) };
}

function drawBox(shadow, rect, { colour, label, fill = 'transparent' }) {
  const box = newElement('div');
  box.style.cssText = `position: absolute; box-sizing: border-box; left: ${rect.x}px; top: ${rect.y}px; width: ${rect.width}px; `
    + `height: ${rect.height}px; border: 2px solid ${colour}; border-radius: 2px; background: ${fill};`;
  if (label) {
    const tag = newElement('span');
    tag.textContent = label;
    // Above the box, or inside it at the top of the page.
    const top = rect.y >= 14 ? -15 : -1;
    tag.style.cssText = `position: absolute; left: -2px; top: ${top}px; background: ${colour}; color: #fff; font: bold 11px/13px sans-serif; `
      + 'padding: 0 3px; border-radius: 2px; white-space: nowrap; max-width: 400px; overflow: hidden; text-overflow: ellipsis;';
    box.appendChild(tag);
  }
  shadow.appendChild(box);
  return box;
}

/** With `full`, boxes stand in the whole page and scroll with it; otherwise only those in the viewport are drawn. */
function annotatePage({ refs, prefix = '', next, full = false, max = 300 }) {
  reserve(next);
  unannotatePage();
  const elements = Array.isArray(refs) ? refs.map(elementOf).filter(Boolean) : interactiveElements();
  const shown = elements.filter((element) => isVisible(element) && (full || inViewport(element)));
  // Everything is measured before anything is drawn: one layout for all.
  const boxes = shown.slice(0, max).map((element) => ({ element, rect: toRect(boxOf(element)) }))
    .filter(({ element, rect }) => full || Array.isArray(refs) || isOnTop(element, rect));
  const shift = full ? { x: scrollX, y: scrollY } : { x: 0, y: 0 };
  annotations = makeOverlay(full ? 'position: absolute; inset: auto; left: 0; top: 0; width: 0; height: 0;' : '');
  const answer = boxes.map(({ element, rect }, index) => {
    const ref = refOf(element);
    const label = `${prefix}e${ref}`;
    const placed = { ...rect, x: rect.x + shift.x, y: rect.y + shift.y };
    drawBox(annotations.shadow, placed, { colour: COLOURS[index % COLOURS.length], label });
    return { ref, label, rect: placed };
  });
  return { boxes: answer, total: shown.length, next: nextRef };
}

/** Not under something else, as what is behind a dialog is. */
function isOnTop(element, rect) {
  const x = Math.min(Math.max(rect.x + rect.width / 2, 1), innerWidth - 1);
  const y = Math.min(Math.max(rect.y + rect.height / 2, 1), innerHeight - 1);
  const hit = elementAt(x, y);
  return !hit || meets(element, hit) || composedContains(hit, element);
}

function unannotatePage() {
  annotations?.remove();
  annotations = null;
  return { done: true };
}

let highlighted = null;

function highlightRef({ ref, ms = 2_000, text = '' }) {
  return withElement(ref, (element) => {
    highlighted?.remove();
    scrollIntoViewIfOutside(element);
    const overlay = makeOverlay();
    const rect = toRect(boxOf(element));
    drawBox(overlay.shadow, rect, { colour: '#e6194b', label: cut(text, 80), fill: 'rgba(230, 25, 75, 0.12)' });
    highlighted = overlay;
    setTimeout(() => {
      overlay.remove();
      if (highlighted === overlay) highlighted = null;
    }, Math.min(Math.max(Number(ms) || 2_000, 50), 60_000));
    return { done: true, rect };
  });
}

function scrollIntoViewIfOutside(element) {
  if (!inViewport(element)) scrollIntoView(element, CENTER);
}
