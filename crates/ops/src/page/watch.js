// Watching the page change: what was added, removed or altered, gathered until somebody asks.

const MAX_CHANGES = 500;

let observer = null;
/** By kind and element; selectors are made when the changes are taken, for most of them never. */
let changed = new Map();
let dropped = 0;

function watchPage({ on = true }) {
  observer?.disconnect();
  observer = null;
  changed = new Map();
  dropped = 0;
  if (on) {
    observer = new MutationObserver(noteAll);
    const what = { subtree: true, childList: true, attributes: true, characterData: true };
    for (const root of rootsBelow(document)) observer.observe(root, what);
  }
  return { watching: Boolean(on) };
}

function noteAll(records) {
  for (const { type, target, addedNodes, removedNodes, attributeName } of records.slice(0, 10_000)) {
    if (overlays.has(target)) continue;
    if (type === 'attributes') note('attributes', target, attributeName);
    else if (type === 'characterData') note('text', parentNode(target) ?? target, nodeValue(target));
    else {
      for (const node of addedNodes) if (isWorthNoting(node)) note('added', target, node);
      for (const node of removedNodes) if (isWorthNoting(node)) note('removed', target, node);
    }
  }
}

function isWorthNoting(node) {
  if (nodeType(node) === TEXT) return squeeze(nodeValue(node)) !== '';
  return nodeType(node) === ELEMENT && !NEVER_SHOWN.has(tagOf(node)) && !overlays.has(node) && !isOverlay(node);
}

/** An overlay that is gone already; only ours say this. */
const isOverlay = (node) => nodeType(node) === ELEMENT && node.style?.zIndex === '2147483647' && attribute(node, 'popover') === 'manual';

function note(kind, element, what) {
  let byElement = changed.get(kind);
  if (!byElement) changed.set(kind, byElement = new Map());
  let entry = byElement.get(element);
  if (!entry) {
    if (byElement.size >= MAX_CHANGES) return void dropped++;
    byElement.set(element, entry = { count: 0, texts: new Set() });
  }
  entry.count++;
  if (entry.texts.size >= 5) return;
  const text = typeof what === 'string' ? what : squeeze(textContent(what)?.slice(0, 1_000) ?? '') || (isElement(what) ? `<${tagOf(what)}>` : '');
  entry.texts.add(cut(squeeze(text), 200));
}

/** Takes what has changed since it was asked last. */
function takeChanges({ max = 100 }) {
  if (observer) noteAll(observer.takeRecords());
  const changes = [];
  let total = dropped;
  for (const [kind, byElement] of changed) {
    for (const [element, { count, texts }] of byElement) {
      total++;
      if (changes.length >= max) continue;
      const where = isElement(element) && isConnected(element) ? selectorOf(element) : isElement(element) ? tagOf(element) : 'document';
      changes.push({ kind, selector: where, text: [...texts].join(' | '), count });
    }
  }
  changed = new Map();
  dropped = 0;
  return { changes, total, truncated: total > changes.length, watching: observer !== null };
}
