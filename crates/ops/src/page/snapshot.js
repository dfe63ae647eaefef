// The snapshot: the page as a tree of roles, names and texts, in one walk over what is drawn.
// Speed is part of it: one computed style per element, no layout unless boxes are asked for.

/** Roles that say nothing an agent needs: their text belongs to what is around them. */
const FOLDED = NAMES('generic presentation none strong emphasis code deletion insertion subscript superscript mark time');

/** Containers that are left out when nothing is in them. */
const CONTAINERS = NAMES('article list listitem paragraph rowgroup row group region table blockquote figure caption term definition '
  + 'navigation complementary banner contentinfo main search status log feed toolbar tablist radiogroup menu menubar form');

/** Containers that a compact snapshot does without, as long as they have no name and no text of their own. */
const STRUCTURE = NAMES('list listitem paragraph rowgroup row group region table blockquote figure article navigation complementary '
  + 'banner contentinfo main search form feed separator cell gridcell document term definition');

/** Roles that have only the names given to them. */
const UNNAMED = NAMES('list listitem paragraph rowgroup article blockquote main navigation banner contentinfo complementary separator');

/** Pictures are not walked through unless there is something to read or to click in them. */
const TELLING_SVG = 'text,a,foreignObject,[role],[tabindex],[onclick],[aria-label]';

const MAX_OPTIONS = 100;

function takeSnapshot({ next, prefix, interactive, compact, depth, root, boxes }) {
  reserve(next);
  const isPart = root !== undefined && root !== null;
  const start = isPart ? elementOf(root) : openModal() ?? bodyOf(document) ?? pageElement(document);
  if (!start && isPart) return stale(root);
  if (!start) return { lines: [], next: nextRef, iframes: [], count: 0, truncated: false };
  expectWholePage(start);
  const walk = new TreeBuilder({ interactive: Boolean(interactive), compact: Boolean(compact || interactive) });
  const tree = walk.treeOf(start);
  const writer = new LineWriter({ prefix, boxes, depth: depth > 0 ? depth : Infinity });
  writer.writeAll(interactive ? flattened(tree) : tree, 0);
  return { lines: writer.lines, next: nextRef, iframes: writer.iframes, count: writer.count, truncated: walk.truncated };
}

/** Under a modal dialog the browser makes all else inert, so the dialog is all there is. */
function openModal() {
  const modals = Array.from(query(document, 'dialog:modal')).filter((dialog) => !isHidden(dialog));
  const active = activeElement();
  return modals.findLast((dialog) => active && contains(dialog, active)) ?? modals.at(-1) ?? null;
}

class TreeBuilder {
  left = MAX_NODES;
  depth = 0;
  truncated = false;
  /** Above zero inside a label whose control says the same. */
  muted = 0;

  constructor({ interactive, compact }) {
    this.interactive = interactive;
    this.compact = compact;
    this.owned = ownedElements();
  }

  treeOf(start) {
    const top = { element: null, role: '', name: '', children: [], props: [], pointer: false, broken: false };
    this.visit(start, top, false);
    finishTexts(top);
    return top.children;
  }

  visit(element, into, pointer) {
    if (--this.left < 0 || this.depth > MAX_DEPTH) return void (this.truncated = true);
    const tag = tagOf(element);
    if (NEVER_SHOWN.has(tag)) return;
    if (tag === 'br' || tag === 'wbr') return void addText(into, tag === 'br' ? ' ' : '');
    const bits = look(element);
    if (bits & NO_BOX || isCutOff(element)) return;
    const role = roleOf(element);
    const seen = (bits & UNSEEN) === 0;
    // The cursor is inherited, so inside of what points nothing begins to.
    const points = !pointer && seen && isPointer(element);
    const clickable = seen && isClickable(element, tag, role, points);
    const kept = seen && (clickable || !FOLDED.has(role) || (tag !== 'svg' && isNamed(element)));
    if (!kept) {
      const inline = isInline(element);
      if (!inline) into.broken = true;
      const said = tag === 'label' && isSaidByControl(element);
      if (said) this.muted++;
      this.children(element, tag, into, pointer || points, seen);
      if (said) this.muted--;
      if (!inline) into.broken = true;
      return;
    }
    const node = { element, role, name: '', children: [], props: [], pointer: points, broken: false };
    node.name = onlyText(element, tag, role);
    if (!node.name) {
      node.name = this.nameFor(element, role);
      this.children(element, tag, node, pointer || points, true);
      finishTexts(node);
    }
    this.finish(node, tag);
    this.place(node, into, clickable);
  }

  /** A row would repeat its cells, so it has only the name that it was given. */
  nameFor(element, role) {
    if (role === 'generic' || role === 'row') return isNamed(element) ? nameOf(element) : '';
    // To see that a paragraph has no name needs no computation.
    return UNNAMED.has(role) && isPlain(element) ? '' : nameOf(element);
  }

  children(element, tag, into, pointer, seen) {
    if (OPAQUE.has(tag)) return;
    if (tag === 'svg' && query(element, TELLING_SVG).length === 0) return;
    if (tag === 'select') return this.options(element, into);
    const folded = tag === 'details' && !hasAttribute(element, 'open');
    this.depth++;
    eachChild(element, (child) => {
      const type = nodeType(child);
      if (type === TEXT) {
        if (seen && !folded && this.muted === 0) addText(into, nodeValue(child));
      } else if (type === ELEMENT && !(folded && isFolded(element, child)) && !this.isElsewhere(child, element)) {
        this.visit(child, into, pointer);
      }
    });
    if (this.owned) {
      for (const [child, owner] of this.owned) {
        if (owner === element && !composedContains(element, child)) this.visit(child, into, pointer);
      }
    }
    this.depth--;
  }

  isElsewhere(child, parent) {
    return this.owned !== null && this.owned.has(child) && this.owned.get(child) !== parent;
  }

  /** All options of a list, up to a bound; the short forms say only what is chosen. */
  options(list, into) {
    if (this.compact) return;
    const options = list.options;
    for (let i = 0; i < Math.min(options.length, MAX_OPTIONS); i++) {
      const element = options[i];
      into.children.push({ element, role: 'option', name: nameOf(element), children: [], props: [], pointer: false, broken: false });
    }
    if (options.length > MAX_OPTIONS) into.children.push(`… and ${options.length - MAX_OPTIONS} more options`);
  }

  /** What the walk could not know before the children were there: values, links, and texts that the name has said. */
  finish(node, tag) {
    const { element, role } = node;
    if (node.name && (NAMED_BY_CONTENT.has(role) || PARTS[tag])) {
      node.children = node.children.filter((child) => !saysOnly(child, node.name));
      if ((role === 'cell' || role === 'gridcell') && node.children.length > 0 && !isNamed(element)) {
        // The names of what is inside say it already.
        if (node.children.every((child) => typeof child !== 'string' && child.name)) node.name = '';
      }
    }
    const value = VALUED.has(role) && (tag !== 'select' || this.compact) ? shownValue(element, tag) : '';
    if (value) node.children = [value, ...node.children.filter((child) => typeof child !== 'string')];
    if (this.compact) return;
    if (role === 'link') {
      const url = attribute(element, 'href');
      if (url) node.props.push(['url', cut(url, url.startsWith('data:') ? 60 : 500)]);
    }
    if (role === 'textbox' || role === 'searchbox') {
      const hint = squeeze(attribute(element, 'placeholder') ?? '');
      if (hint && hint !== node.name && node.children.length === 0) node.props.push(['placeholder', cut(hint, 200)]);
    }
  }

  place(node, into, clickable) {
    const { role, children } = node;
    const only = children.length === 1 && typeof children[0] !== 'string' ? children[0] : null;
    if (role === 'generic' && only && !node.name) {
      // Around a single thing one clicks that thing.
      only.pointer ||= node.pointer;
      return addNode(into, only);
    }
    if (!node.name && children.length === 0) {
      if (CONTAINERS.has(role) && !clickable) return;
      if (role === 'generic' && !clickable) return;
    }
    if (this.compact && !clickable && !node.name && STRUCTURE.has(role) && !children.some((child) => typeof child === 'string')) {
      for (const child of children) addNode(into, child);
      return;
    }
    addNode(into, node);
  }
}

/** The short way for most links, cells and buttons: with one text inside and nothing said otherwise, that is the name. */
function onlyText(element, tag, role) {
  if (!NAMED_BY_CONTENT.has(role) || role === 'row' || !isPlain(element)) return '';
  const child = firstChild(element);
  if (!child || nodeType(child) !== TEXT || nextSibling(child) || shadowOf(element)) return '';
  if (tag === 'button' && labelsOf(element).length > 0) return '';
  const text = squeeze(nodeValue(child));
  return text.length <= MAX_TEXT ? text : '';
}

/** Roles whose value is written after them. */
const VALUED = NAMES('textbox searchbox combobox listbox slider spinbutton progressbar meter scrollbar button');

/** What is edited in place is not a value but text, and told as such; a button's value is its name. */
function shownValue(element, tag) {
  if (tag === 'button' || tag === 'summary') return '';
  if (tag === 'input' ? element.type !== 'file' && NOT_EDITABLE.has(element.type) : isEditable(element)) return '';
  return cut(squeeze(valueOf(element) ?? ''), MAX_TEXT);
}

function addNode(into, node) {
  into.children.push(node);
  into.broken = false;
}

/** Texts that stand in one line of the page are one text; a block between them breaks it. */
function addText(into, text) {
  const { children } = into;
  const last = children.length - 1;
  if (last >= 0 && typeof children[last] === 'string' && !into.broken) children[last] += text;
  else if (text.trim() !== '') {
    children.push(text);
    into.broken = false;
  }
}

function finishTexts(node) {
  const { children } = node;
  let texts = false;
  for (let i = 0; i < children.length && !texts; i++) texts = typeof children[i] === 'string';
  if (!texts) return;
  node.children = [];
  for (const child of children) {
    const tidy = typeof child === 'string' ? cut(squeeze(child), MAX_TEXT) : child;
    if (tidy !== '') node.children.push(tidy);
  }
}

const isNamed = (element) => !isPlain(element) && (hasAttribute(element, 'aria-label') || hasAttribute(element, 'aria-labelledby'));

/** Whether a child says nothing that is not in the name above it: a text, a picture, a caption. */
function saysOnly(child, name) {
  if (typeof child === 'string') return name.includes(child);
  if (child.role === 'img') return !child.pointer && child.children.length === 0 && name.includes(child.name);
  return child.role === 'caption' && child.children.length === 1 && child.children[0] === name;
}

/** A label's text is the name of its control, and need not be told twice. */
function isSaidByControl(label) {
  const control = label.control;
  if (!control || isHidden(control)) return false;
  return nameOf(control).includes(squeeze(contentOf(label, new Set([control]))));
}

/** Whether an element without a telling role is meant to be clicked or typed into. */
function isClickable(element, tag, role, pointer) {
  if (INTERACTIVE_ROLES.has(role)) return true;
  if (tag === 'html' || tag === 'body') return false;
  if (tag === 'label') {
    const control = element.control;
    // A label speaks for its control; only when that is not drawn, as with switches, is it what one clicks.
    return Boolean(control) && (look(control) & (NO_BOX | UNSEEN)) !== 0 && control.type !== 'hidden';
  }
  if (pointer) return true;
  if (isPlain(element)) return false;
  if (hasAttribute(element, 'onclick')) return true;
  const index = attribute(element, 'tabindex');
  return index !== null && Number(index) >= 0;
}

/** Elements that stand elsewhere than they belong, by `aria-owns`, with those they belong to; null if there are none. */
function ownedElements() {
  const owners = query(document, '[aria-owns]');
  if (owners.length === 0) return null;
  const owned = new Map();
  for (const owner of Array.from(owners).slice(0, 500)) {
    for (const id of (attribute(owner, 'aria-owns') ?? '').split(/\s+/, 100)) {
      const element = id && byId(owner, id);
      if (element && element !== owner && !contains(element, owner)) owned.set(element, owner);
    }
  }
  return owned.size > 0 ? owned : null;
}

/** What one can act on, as a list; what is only text stays with it. */
function flattened(tree) {
  const found = [];
  const collect = (nodes) => {
    for (const node of nodes) {
      if (typeof node === 'string') continue;
      if (INTERACTIVE_ROLES.has(node.role) || node.role === 'iframe' || isClickable(node.element, tagOf(node.element), node.role, node.pointer)) {
        const texts = node.children.filter((child) => typeof child === 'string');
        found.push({ ...node, props: [], children: texts.length > 0 ? [cut(texts.join(' '), 200)] : [] });
      }
      collect(node.children);
    }
  };
  collect(tree);
  return found;
}
