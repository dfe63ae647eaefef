// Accessible names, as the accname computation gives them: what a control is called by people who do not see it.

const NAMED_BY_CONTENT = NAMES('button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option '
  + 'radio row rowheader switch tab tooltip treeitem');

const JUST_TEXT = NAMES('span div b i em strong p small u mark code br');

const LABELLED_TAGS = NAMES('input select textarea button meter output progress');

function nameOf(element) {
  let name = cache.names.get(element);
  if (name === undefined) {
    name = cut(squeeze(accessibleName(element, { seen: new Set(), via: 'top' })), MAX_TEXT);
    cache.names.set(element, name);
  }
  return name;
}

/** `via` says how the computation came to the element: from the top, or on the way through others it has `seen`. */
function accessibleName(element, { seen, via }) {
  if (seen.has(element) || seen.size > MAX_DEPTH) return '';
  if (via === 'content' && isHiddenBelow(element)) return '';
  seen.add(element);
  // The spans of which most names are made.
  if (via === 'content' && isPlain(element) && JUST_TEXT.has(tagOf(element))) return contentOf(element, seen);
  if (via !== 'labelledby') {
    const name = nameByIds(element, seen);
    if (name) return name;
  }
  if (via !== 'top') {
    const value = embeddedValue(element);
    if (value !== null) return value;
  }
  const said = isPlain(element) ? null : attribute(element, 'aria-label');
  if (said && said.trim()) return said;
  const native = nativeName(element, seen, via);
  if (native) return native;
  if (via !== 'top' || NAMED_BY_CONTENT.has(roleOf(element))) {
    const text = contentOf(element, seen);
    if (squeeze(text)) return text;
    if (via === 'top') {
      const drawn = generatedText(element);
      if (drawn) return drawn;
    }
  }
  return lastResort(element, via);
}

/** Within a name only what is hidden itself is left out: its ancestors have been looked at on the way. */
function isHiddenBelow(element) {
  return NEVER_SHOWN.has(tagOf(element)) || (look(element) & (NO_BOX | UNSEEN)) !== 0 || isCutOff(element);
}

function nameByIds(element, seen) {
  const ids = isPlain(element) ? null : attribute(element, 'aria-labelledby');
  if (!ids) return '';
  const parts = [];
  for (const id of ids.split(/\s+/, 20)) {
    const other = id && byId(element, id);
    // An element may name itself along with others, so what was seen on the way here does not count.
    if (other) parts.push(accessibleName(other, { seen: other === element ? new Set() : new Set(seen), via: 'labelledby' }));
  }
  return squeeze(parts.join(' '));
}

/** What a control inside a label or a button adds to it: its value. */
function embeddedValue(element) {
  const role = roleOf(element);
  if (role === 'textbox' || role === 'searchbox') return tagOf(element) === 'input' && element.type === 'password' ? '' : valueOf(element) ?? '';
  if (role === 'combobox' || role === 'listbox') {
    if (tagOf(element) === 'select') return selectedText(element);
    return tagOf(element) === 'input' ? element.value : null;
  }
  if (role === 'slider' || role === 'spinbutton' || role === 'progressbar' || role === 'meter') return valueOf(element) ?? '';
  return null;
}

function nativeName(element, seen, via) {
  const tag = tagOf(element);
  if (tag === 'input') {
    const type = element.type;
    if (type === 'submit' || type === 'button' || type === 'reset') {
      if (element.value) return element.value;
      if (type === 'submit') return 'Submit';
      if (type === 'reset') return 'Reset';
    }
    if (type === 'image') return attribute(element, 'alt') || attribute(element, 'value') || attribute(element, 'title') || 'Submit';
    if (type === 'file') return labelText(element, seen) || 'Choose File';
  }
  if (LABELLED_TAGS.has(tag)) return labelText(element, seen);
  if (tag === 'img' || tag === 'area') return attribute(element, 'alt') ?? '';
  const part = PARTS[tag];
  if (part && via !== 'content') {
    for (let node = firstChild(element); node; node = nextSibling(node)) {
      if (nodeType(node) === ELEMENT && tagOf(node) === part) return contentOf(node, seen);
    }
  }
  if (tag === 'svg') {
    const title = svgTitle(element);
    return title ? textContent(title) : '';
  }
  if (tag === 'optgroup' || tag === 'option') return attribute(element, 'label') ?? '';
  return '';
}

/** Elements that are named by one of their children. */
const PARTS = { fieldset: 'legend', table: 'caption', figure: 'figcaption' };

function labelText(control, seen) {
  const labels = labelsOf(control);
  if (labels.length === 0) return '';
  return labels.map((label) => accessibleName(label, { seen, via: 'label' })).join(' ');
}

/** The label elements of a control. `control.labels` looks through the whole page each time, so they are sorted once. */
function labelsOf(control) {
  const root = rootNode(control);
  let byControl = cache.labels.get(root);
  if (!byControl) {
    byControl = new Map();
    const type = nodeType(root);
    for (const label of type === DOCUMENT || type === FRAGMENT ? query(root, 'label') : []) {
      const owner = label.control;
      if (!owner) continue;
      const others = byControl.get(owner);
      if (others) others.push(label);
      else byControl.set(owner, [label]);
    }
    cache.labels.set(root, byControl);
  }
  return byControl.get(control) ?? [];
}

function contentOf(element, seen) {
  const parts = [];
  let left = 500;
  eachChild(element, (child) => {
    if (--left < 0) return;
    const type = nodeType(child);
    if (type === TEXT) parts.push(nodeValue(child));
    else if (type === ELEMENT) {
      if (tagOf(child) === 'br') return void parts.push(' ');
      const text = accessibleName(child, { seen, via: 'content' });
      if (text) parts.push(isInline(child) ? text : ` ${text} `);
    }
  });
  return parts.join('');
}

/** Text that style sheets draw before and after: the only name some icon buttons have. Glyphs of icon fonts are none. */
function generatedText(element) {
  const texts = [];
  for (const part of ['::before', '::after']) {
    const content = getComputedStyle(element, part).content;
    const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(content ?? '');
    if (quoted) texts.push(quoted[1].replace(/[\ue000-\uf8ff]|[\u{f0000}-\u{10ffff}]/gu, ''));
  }
  return squeeze(texts.join(' '));
}

function lastResort(element, via) {
  const title = attribute(element, 'title');
  if (title && title.trim()) return title;
  if (via !== 'top') return '';
  const tag = tagOf(element);
  if (tag === 'input' || tag === 'textarea') return attribute(element, 'placeholder') || attribute(element, 'aria-placeholder') || '';
  if (tag === 'iframe') return attribute(element, 'name') ?? '';
  return attribute(element, 'aria-placeholder') ?? attribute(element, 'data-placeholder') ?? '';
}
