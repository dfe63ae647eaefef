'use strict';
// The DOM as it is, whatever the page has made of it, and the memory of one call.
// A form or a document answers to the names of its children (`<input name=nodeName>`), so what is asked of any
// element goes through the getters of the prototypes. Nothing here runs code of the page.

/** No loop over the page goes further than this, however large it is. */
const MAX_NODES = 50_000;
/** Nor deeper: a walk is a recursion, and a stack ends. */
const MAX_DEPTH = 1_000;
const MAX_TEXT = 900;
const MAX_ANSWER = 2_000_000;

/** Bound and not wrapped: one wrapper for all would be seen by the compiler as one function that does everything. */
const bound = Function.prototype.bind.bind(Function.prototype.call);
const getter = (type, name) => bound(Object.getOwnPropertyDescriptor(type.prototype, name).get);
const method = (type, name) => bound(type.prototype[name]);

const nodeType = getter(Node, 'nodeType');
const parentNode = getter(Node, 'parentNode');
const firstChild = getter(Node, 'firstChild');
const nextSibling = getter(Node, 'nextSibling');
const previousSibling = getter(Node, 'previousSibling');
const nodeValue = getter(Node, 'nodeValue');
const textContent = getter(Node, 'textContent');
const isConnected = getter(Node, 'isConnected');
const contains = method(Node, 'contains');
const rootNode = method(Node, 'getRootNode');
const tagOf = getter(Element, 'localName');
const shadowOf = getter(Element, 'shadowRoot');
const slotOf = getter(Element, 'assignedSlot');
const slotOfText = getter(Text, 'assignedSlot');
const attributesOf = getter(Element, 'attributes');
const attribute = method(Element, 'getAttribute');
const hasAttribute = method(Element, 'hasAttribute');
const matchesCss = method(Element, 'matches');
const closest = method(Element, 'closest');
const boxOf = method(Element, 'getBoundingClientRect');
const rectsOf = method(Element, 'getClientRects');
const isEditing = getter(HTMLElement, 'isContentEditable');
const innerTextOf = getter(HTMLElement, 'innerText');
const assigned = method(HTMLSlotElement, 'assignedNodes');

const queryElement = method(Element, 'querySelectorAll');
const queryDocument = method(Document, 'querySelectorAll');
const queryFragment = method(DocumentFragment, 'querySelectorAll');
const bodyOf = getter(Document, 'body');
const pageElement = getter(Document, 'documentElement');
const scrollingElement = getter(Document, 'scrollingElement');
const titleOf = getter(Document, 'title');
const readyStateOf = getter(Document, 'readyState');
const activeOfDocument = getter(Document, 'activeElement');
const activeOfShadow = getter(ShadowRoot, 'activeElement');
const pointOfDocument = method(Document, 'elementFromPoint');
const pointOfShadow = method(ShadowRoot, 'elementFromPoint');
const byIdInDocument = method(Document, 'getElementById');
const byIdInFragment = method(DocumentFragment, 'getElementById');
const createElementNS = method(Document, 'createElementNS');
const execCommand = method(Document, 'execCommand');
const documentHasFocus = method(Document, 'hasFocus');

const ELEMENT = 1;
const TEXT = 3;
const DOCUMENT = 9;
const FRAGMENT = 11;

/** What is looked up more than once during a call; the page may change between two calls. */
let cache = newCache();

function newCache() {
  return {
    looks: new Map(), roles: new Map(), names: new Map(), hidden: new Map(), texts: new Map(), labels: new Map(), only: new Map(),
    telling: null, roots: null,
  };
}

function forget() {
  cache = newCache();
}

const TELLING = '[role],[aria-hidden],[inert],[hidden],[aria-label],[aria-labelledby],[title],[tabindex],[onclick],[contenteditable],'
  + '[aria-placeholder],[data-placeholder]';

/**
 * Most elements have none of the attributes that say what they are. To ask the browser once for those that do is far
 * cheaper than to ask every element; worth it only for a walk over the whole page, which says so with this.
 */
function expectWholePage(start) {
  cache.telling = new Set(queryDocument(document, TELLING));
  for (let root = rootNode(start); root instanceof ShadowRoot; root = rootNode(root.host)) enterShadow(root);
}

/** The attributes of a shadow root's elements are asked for when the walk comes there. */
function enterShadow(shadow) {
  if (cache.telling === null || cache.telling.has(shadow)) return;
  cache.telling.add(shadow);
  for (const element of queryFragment(shadow, TELLING)) cache.telling.add(element);
}

/** Whether it is known that an element has none of them. */
const isPlain = (element) => cache.telling !== null && !cache.telling.has(element);

function failure(error, message, more) {
  return { error, message, ...more };
}

const isElement = (node) => node !== null && node !== undefined && nodeType(node) === ELEMENT;

/** Any element, document or shadow root; a bad selector throws as it does in the DOM. */
function query(scope, selector) {
  const type = nodeType(scope);
  if (type === ELEMENT) return queryElement(scope, selector);
  return type === DOCUMENT ? queryDocument(scope, selector) : queryFragment(scope, selector);
}

/** The element of an id in the same tree as `node`: ids do not cross shadow roots. */
function byId(node, id) {
  const root = rootNode(node);
  const type = nodeType(root);
  if (type === DOCUMENT) return byIdInDocument(root, id);
  return type === FRAGMENT ? byIdInFragment(root, id) : null;
}

/** The parent as it is drawn: the slot of what is slotted, the host of a shadow root. */
function composedParent(node) {
  const slot = nodeType(node) === ELEMENT ? slotOf(node) : nodeType(node) === TEXT ? slotOfText(node) : null;
  if (slot) return slot;
  const parent = parentNode(node);
  if (parent && nodeType(parent) === FRAGMENT) return parent instanceof ShadowRoot ? parent.host : null;
  return parent && nodeType(parent) === ELEMENT ? parent : null;
}

function composedContains(outer, inner) {
  for (let node = inner, left = 1000; node && left > 0; node = composedParent(node), left--) {
    if (node === outer) return true;
  }
  return false;
}

/** Calls `visit` with each child as it is drawn: those of the shadow root, and what is assigned to a slot. */
function eachChild(element, visit) {
  const shadow = shadowOf(element);
  if (shadow) enterShadow(shadow);
  else if (tagOf(element) === 'slot') {
    const nodes = element instanceof HTMLSlotElement ? assigned(element) : [];
    if (nodes.length > 0) {
      for (const node of nodes) visit(node);
      return;
    }
  }
  let left = MAX_NODES;
  for (let node = firstChild(shadow ?? element); node && left > 0; node = nextSibling(node), left--) visit(node);
}

/** The scope itself and all open shadow roots below it. */
function rootsBelow(scope) {
  if (scope === document && cache.roots) return cache.roots;
  const roots = [scope];
  let left = MAX_NODES;
  const own = nodeType(scope) === ELEMENT ? shadowOf(scope) : null;
  if (own) roots.push(own);
  for (let i = 0; i < roots.length && left > 0; i++) {
    for (const element of query(roots[i], '*')) {
      if (--left < 0) break;
      const shadow = shadowOf(element);
      if (shadow) roots.push(shadow);
    }
  }
  if (scope === document) cache.roots = roots;
  return roots;
}

/** All matches of a selector below the scope, through open shadow roots. */
function queryDeep(scope, selector) {
  const found = [];
  for (const root of rootsBelow(scope)) {
    for (const element of query(root, selector)) {
      if (found.length >= MAX_NODES) return found;
      found.push(element);
    }
  }
  return found;
}

/** The element that has the focus, in whichever shadow root; null if it is but the body. */
function activeElement() {
  let element = activeOfDocument(document);
  for (let shadow = element && shadowOf(element); shadow; shadow = shadowOf(element)) {
    const inner = activeOfShadow(shadow);
    if (!inner) break;
    element = inner;
  }
  return element && element !== bodyOf(document) && element !== pageElement(document) ? element : null;
}

/** The innermost element at a point of the viewport. */
function elementAt(x, y) {
  let element = pointOfDocument(document, x, y);
  for (let shadow = element && shadowOf(element); shadow; shadow = shadowOf(element)) {
    const inner = pointOfShadow(shadow, x, y);
    if (!inner || inner === element || rootNode(inner) !== shadow) break;
    element = inner;
  }
  return element;
}

const squeeze = (text) => text.replace(/[\s\u00a0\u200b\u00ad]+/g, ' ').trim();

const cut = (text, max) => (text.length <= max ? text : `${text.slice(0, Math.max(0, max - 1)).trimEnd()}…`);

const toRect = ({ x, y, width, height }) => ({ x: round(x), y: round(y), width: round(width), height: round(height) });

const round = (number) => Math.round(number * 100) / 100;
