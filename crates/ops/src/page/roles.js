// Roles of elements, as HTML-AAM maps tags to them and as `role` says otherwise.

const NAMES = (text) => new Set(text.split(' '));

const ARIA_ROLES = NAMES('alert alertdialog application article banner blockquote button caption cell checkbox code columnheader '
  + 'combobox complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell '
  + 'group heading img image insertion link list listbox listitem log main mark marquee math menu menubar menuitem menuitemcheckbox '
  + 'menuitemradio meter navigation none note option paragraph presentation progressbar radio radiogroup region row rowgroup '
  + 'rowheader scrollbar search searchbox separator slider spinbutton status strong subscript superscript switch tab table tablist '
  + 'tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem');

/** Things a person can act on. */
const INTERACTIVE_ROLES = NAMES('button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio searchbox '
  + 'slider spinbutton switch tab textbox treeitem scrollbar');

const INPUT_ROLES = {
  button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button',
  checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox',
};

const PLAIN_ROLES = new Map(Object.entries({
  address: 'group', article: 'article', aside: 'complementary', audio: 'audio', blockquote: 'blockquote', button: 'button',
  canvas: 'canvas', caption: 'caption', code: 'code', datalist: 'listbox', dd: 'definition', del: 'deletion', details: 'group',
  dfn: 'term', dialog: 'dialog', dt: 'term', em: 'emphasis', embed: 'document', fieldset: 'group', figure: 'figure', frame: 'iframe',
  h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading', h5: 'heading', h6: 'heading', hr: 'separator', html: 'document',
  iframe: 'iframe', ins: 'insertion', li: 'listitem', main: 'main', mark: 'mark', math: 'math', menu: 'list', meter: 'meter',
  nav: 'navigation', ol: 'list', optgroup: 'group', option: 'option', output: 'status', p: 'paragraph', progress: 'progressbar',
  search: 'search', strong: 'strong', sub: 'subscript', summary: 'button', sup: 'superscript', table: 'table', tbody: 'rowgroup',
  textarea: 'textbox', tfoot: 'rowgroup', thead: 'rowgroup', time: 'time', tr: 'row', ul: 'list', video: 'video',
}));

const SECTIONS = 'article,aside,main,nav,section,[role=article],[role=complementary],[role=main],[role=navigation],[role=region]';

function roleOf(element) {
  let role = cache.roles.get(element);
  if (role === undefined) {
    role = explicitRole(element) ?? implicitRole(element);
    cache.roles.set(element, role);
  }
  return role;
}

function explicitRole(element) {
  if (isPlain(element)) return null;
  const said = attribute(element, 'role');
  if (!said) return null;
  for (const word of said.toLowerCase().split(/\s+/, 10)) {
    if (!ARIA_ROLES.has(word)) continue;
    if (word === 'none' || word === 'presentation') return isFocusable(element) ? null : 'presentation';
    return word === 'image' ? 'img' : word;
  }
  return null;
}

function implicitRole(element) {
  const tag = tagOf(element);
  if (tag === 'div' || tag === 'span') return isEditingHost(element) ? 'textbox' : 'generic';
  const plain = PLAIN_ROLES.get(tag);
  if (plain) return plain !== 'paragraph' || !isEditingHost(element) ? plain : 'textbox';
  switch (tag) {
    case 'a': case 'area': return hasAttribute(element, 'href') ? 'link' : 'generic';
    case 'input': return inputRole(element);
    case 'select': return element.multiple || element.size > 1 ? 'listbox' : 'combobox';
    case 'img': return attribute(element, 'alt') === '' && !hasLabel(element) ? 'presentation' : 'img';
    case 'svg': return hasLabel(element) || svgTitle(element) ? 'img' : 'generic';
    case 'section': return hasLabel(element) ? 'region' : 'generic';
    case 'form': return hasLabel(element) ? 'form' : 'generic';
    case 'header': return isInSection(element) ? 'generic' : 'banner';
    case 'footer': return isInSection(element) ? 'generic' : 'contentinfo';
    case 'td': return isInGrid(element) ? 'gridcell' : 'cell';
    case 'th': return headerRole(element);
    default: return isEditingHost(element) ? 'textbox' : 'generic';
  }
}

function inputRole(input) {
  const type = input.type;
  if (type === 'hidden') return 'generic';
  if (INPUT_ROLES[type] && type !== 'search') return INPUT_ROLES[type];
  if (hasAttribute(input, 'list')) return 'combobox';
  return INPUT_ROLES[type] ?? 'textbox';
}

function headerRole(cell) {
  const scope = attribute(cell, 'scope');
  if (scope === 'row' || scope === 'rowgroup') return 'rowheader';
  if (scope === 'col' || scope === 'colgroup') return 'columnheader';
  // Without a scope, a header beside data cells heads its row.
  const row = parentNode(cell);
  for (let node = row && firstChild(row); node; node = nextSibling(node)) {
    if (nodeType(node) === ELEMENT && tagOf(node) === 'td') return 'rowheader';
  }
  return 'columnheader';
}

const hasLabel = (element) => !isPlain(element)
  && (hasAttribute(element, 'aria-label') || hasAttribute(element, 'aria-labelledby') || hasAttribute(element, 'title'));

const isInSection = (element) => closest(element, SECTIONS) !== null;

function isInGrid(cell) {
  const table = closest(cell, 'table,[role]');
  const role = table && attribute(table, 'role');
  return role === 'grid' || role === 'treegrid' || (role === 'row' && closest(cell, '[role=grid],[role=treegrid]') !== null);
}

function svgTitle(svg) {
  for (let node = firstChild(svg); node; node = nextSibling(node)) {
    if (nodeType(node) === ELEMENT && tagOf(node) === 'title') return node;
  }
  return null;
}

/** The outermost element of a region that can be edited: it is where one types. */
function isEditingHost(element) {
  if (isPlain(element)) return false;
  const said = attribute(element, 'contenteditable');
  if (said === null || said.toLowerCase() === 'false') return false;
  const parent = parentNode(element);
  return isEditable(element) && !(parent && nodeType(parent) === ELEMENT && isEditable(parent));
}

const isEditable = (element) => element instanceof HTMLElement && isEditing(element);

const FOCUSABLE = NAMES('a area button iframe input select summary textarea');

function isFocusable(element) {
  if (hasAttribute(element, 'tabindex')) return true;
  const tag = tagOf(element);
  if (!FOCUSABLE.has(tag)) return false;
  return (tag !== 'a' && tag !== 'area') || hasAttribute(element, 'href');
}
