// One element in words: for error messages, for a ref whose element is gone, and for people.

function describeRef({ ref }) {
  return withElement(ref, describeElement);
}

function describeElement(element) {
  const tag = tagOf(element);
  const described = {
    ref: refOf(element), role: roleOf(element), name: nameOf(element), tag, text: shortText(element, 300), selector: selectorOf(element),
    attributes: attributesFor(element), value: valueOf(element), checked: checkedState(element), visible: isVisible(element),
    enabled: !isDisabled(element), editable: editableState(element) === true && !isDisabled(element), inViewport: inViewport(element),
    rect: toRect(boxOf(element)), html: cut(serialized(element, { max: 600 }).html, 500),
  };
  if (tag === 'a' || tag === 'area') described.href = String(element.href?.baseVal ?? element.href ?? '');
  if (tag === 'input') described.type = element.type;
  return described;
}

function attributesFor(element) {
  const list = attributesOf(element);
  const attributes = {};
  for (let i = 0; i < Math.min(list.length, 50); i++) {
    const { name, value } = list[i];
    if (name === 'value' && attribute(element, 'type') === 'password') continue;
    attributes[name] = cut(value, 300);
  }
  return attributes;
}

/** As it would stand in a sentence: `<div class="modal"> "Cookies"`. */
function inWords(element) {
  const tag = tagOf(element);
  const id = attribute(element, 'id');
  const classes = squeeze(attribute(element, 'class') ?? '');
  const role = attribute(element, 'role');
  const marks = `${id ? ` id="${cut(id, 40)}"` : ''}${role ? ` role="${cut(role, 20)}"` : ''}${classes && !id ? ` class="${cut(classes, 60)}"` : ''}`;
  const text = shortText(element, 40);
  return `<${tag}${marks}>${text ? ` "${text}"` : ''}`;
}

const TEST_IDS = ['data-testid', 'data-test-id', 'data-test'];

/** A short selector that finds this element alone; through shadow roots as a chain that `find` understands. */
function selectorOf(element) {
  const root = rootNode(element);
  if (nodeType(root) === FRAGMENT && root instanceof ShadowRoot) return `${selectorOf(root.host)} >> ${selectorWithin(root, element)}`;
  return nodeType(root) === DOCUMENT ? selectorWithin(root, element) : tagOf(element);
}

/** From the nearest ancestor that can be named alone, or shorter if the last steps are enough. */
function selectorWithin(root, element) {
  const steps = [];
  for (let node = element, left = 100; node && nodeType(node) === ELEMENT && left > 0; node = parentNode(node), left--) {
    const own = ownSelector(root, node);
    if (own) {
      if (steps.length === 0) return own;
      steps.unshift(own);
      break;
    }
    steps.unshift(stepOf(node, parentNode(node)));
  }
  for (let count = 1; count < Math.min(4, steps.length); count++) {
    const path = steps.slice(-count).join(' > ');
    if (isOnly(root, path)) return path;
  }
  return steps.join(' > ');
}

function ownSelector(root, element) {
  const tag = tagOf(element);
  if (tag === 'html' || tag === 'body') return tag;
  const id = attribute(element, 'id');
  if (id && id.length < 100) {
    const selector = `#${CSS.escape(id)}`;
    if (isOnly(root, selector)) return selector;
  }
  for (const name of [...TEST_IDS, 'name', 'aria-label']) {
    const value = attribute(element, name);
    if (!value || value.length > 80) continue;
    const selector = `${CSS.escape(tag)}[${name}=${JSON.stringify(value)}]`;
    if (!/["\\\n]/.test(value) && isOnly(root, selector)) return selector;
  }
  return null;
}

/** Siblings ask for the same selectors, so the answers are kept for the call. */
function isOnly(root, selector) {
  let known = cache.only.get(root);
  if (!known) cache.only.set(root, known = new Map());
  let only = known.get(selector);
  if (only === undefined) known.set(selector, only = query(root, selector).length === 1);
  return only;
}

function stepOf(element, parent) {
  const tag = tagOf(element);
  let same = 0;
  let place = 0;
  for (let node = parent && firstChild(parent), left = MAX_NODES; node && left > 0; node = nextSibling(node), left--) {
    if (nodeType(node) !== ELEMENT || tagOf(node) !== tag) continue;
    same++;
    if (node === element) place = same;
  }
  return same > 1 ? `${CSS.escape(tag)}:nth-of-type(${place})` : CSS.escape(tag);
}

function describePoint({ x, y, next }) {
  reserve(next);
  const element = elementAt(Number(x), Number(y));
  if (!element) return failure('not_found', `There is nothing at ${x}, ${y} in this frame.`, { next: nextRef });
  return { ...describeElement(element), next: nextRef };
}

/** Elements that could be the one meant by a ref that is gone: by name first, and of the same role rather than not. */
function findSimilar({ role, name = '', next, max = 5 }) {
  reserve(next);
  const wanted = wordsOf(name);
  const rated = [];
  for (const element of queryDeep(document, '*')) {
    const own = roleOf(element);
    if ((own !== role && !INTERACTIVE_ROLES.has(own)) || isHidden(element)) continue;
    const score = likeness(wanted, name, nameOf(element)) * (own === role ? 1 : 0.6);
    if (score > 0 || (!name && own === role)) rated.push({ element, score });
  }
  rated.sort((a, b) => b.score - a.score);
  const matches = rated.slice(0, Math.min(max, 50)).map(({ element, score }) => ({ ...matchOf(element), score: round(score) }));
  return { matches, next: nextRef };
}

const wordsOf = (text) => new Set(text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean));

function likeness(wanted, name, other) {
  if (name !== '' && name === other) return 1;
  const words = wordsOf(other);
  if (words.size === 0 || wanted.size === 0) return 0;
  let shared = 0;
  for (const word of words) if (wanted.has(word)) shared++;
  const part = other.toLowerCase().includes(name.toLowerCase()) || name.toLowerCase().includes(other.toLowerCase()) ? 0.5 : 0;
  return Math.min(0.99, Math.max(part, shared / (wanted.size + words.size - shared)));
}

function pageInfo({ next }) {
  reserve(next);
  const page = pageElement(document);
  const scroller = scrollingElement(document) ?? page;
  const focused = activeElement();
  const info = {
    url: location.href, title: titleOf(document), domain: location.hostname, readyState: readyStateOf(document),
    scroll: { x: round(scrollX), y: round(scrollY) }, viewport: { width: innerWidth, height: innerHeight },
    document: { width: scroller ? scrollWidthOf(scroller) : 0, height: scroller ? scrollHeightOf(scroller) : 0 },
    lang: (page && attribute(page, 'lang')) ?? '', scale: devicePixelRatio,
    focused: focused && { ref: refOf(focused), role: roleOf(focused), name: nameOf(focused), tag: tagOf(focused) },
  };
  return { ...info, next: nextRef };
}
