// States and values of controls: checked, disabled, expanded, and what is in them.

const NATIVELY_DISABLED = NAMES('button fieldset input optgroup option select textarea');
const SELECTABLE = NAMES('gridcell option row tab rowheader columnheader treeitem');
const CHECKABLE = NAMES('checkbox menuitemcheckbox menuitemradio option radio switch treeitem');

/** Disabled natively, or by `aria-disabled` of itself or of something around it. */
function isDisabled(element) {
  if (NATIVELY_DISABLED.has(tagOf(element)) && matchesCss(element, ':disabled')) return true;
  return closest(element, '[aria-disabled=true]') !== null;
}

/** true, false, 'mixed', or null for what cannot be checked. */
function checkedState(element) {
  if (tagOf(element) === 'input' && (element.type === 'checkbox' || element.type === 'radio')) {
    return element.indeterminate && element.type === 'checkbox' ? 'mixed' : element.checked;
  }
  const said = attribute(element, 'aria-checked');
  if (!CHECKABLE.has(roleOf(element))) return null;
  if (said === null) return SELECTABLE.has(roleOf(element)) ? null : false;
  return said === 'mixed' ? 'mixed' : said === 'true';
}

function expandedState(element) {
  const tag = tagOf(element);
  if (tag === 'summary') {
    const details = parentNode(element);
    return details && tagOf(details) === 'details' ? hasAttribute(details, 'open') : null;
  }
  const said = attribute(element, 'aria-expanded');
  return said === 'true' ? true : said === 'false' ? false : null;
}

function selectedState(element) {
  if (tagOf(element) === 'option') return element.selected === true;
  const said = attribute(element, 'aria-selected');
  return said === null ? null : said === 'true';
}

function pressedState(element) {
  const said = attribute(element, 'aria-pressed');
  return said === 'true' ? true : said === 'mixed' ? 'mixed' : said === 'false' ? false : null;
}

function levelOf(element) {
  const said = Number(attribute(element, 'aria-level'));
  if (said > 0) return said;
  const tag = /^h([1-6])$/.exec(tagOf(element));
  return tag ? Number(tag[1]) : roleOf(element) === 'heading' ? 2 : 0;
}

/** Input types whose value is typed as text. */
const TYPED = NAMES('text search url tel email password number');

/** The value as text, null for what has none. That of a password is only told by its length being hidden. */
function valueOf(element) {
  const tag = tagOf(element);
  if (tag === 'input') {
    if (element.type === 'password') return element.value === '' ? '' : '•••••';
    if (element.type === 'file') return Array.from(element.files ?? [], (file) => file.name).join(', ');
    if (element.type === 'checkbox' || element.type === 'radio') return null;
    return element.value;
  }
  if (tag === 'textarea') return element.value;
  if (tag === 'select') return selectedText(element);
  if (tag === 'progress' || tag === 'meter') return String(element.value);
  const said = attribute(element, 'aria-valuetext') ?? attribute(element, 'aria-valuenow');
  if (said !== null) return said;
  return isEditable(element) ? textContent(element) : null;
}

function selectedText(list) {
  return Array.from(list.selectedOptions ?? [], (option) => squeeze(option.label || option.text)).slice(0, 20).join(', ');
}

const isReadOnly = (element) => hasAttribute(element, 'readonly') || attribute(element, 'aria-readonly') === 'true';

/** Whether text can be put in; `null` for what takes none, whatever its state. */
function editableState(element) {
  const tag = tagOf(element);
  if (tag === 'input') return NOT_EDITABLE.has(element.type) ? null : !isReadOnly(element);
  if (tag === 'textarea') return !isReadOnly(element);
  if (tag === 'select') return true;
  return isEditable(element) ? attribute(element, 'aria-readonly') !== 'true' : null;
}

const NOT_EDITABLE = NAMES('button submit reset image file checkbox radio hidden');

/** The control a label or something inside a label stands for; other elements stand for themselves. */
function controlOf(element) {
  if (LABELLED_TAGS.has(tagOf(element)) || isEditable(element) || explicitRole(element)) return element;
  const label = closest(element, 'label');
  return label?.control ?? element;
}

/** The field that text for an element goes into: itself, its control, or the only field inside it. */
function fieldFor(element) {
  const control = controlOf(element);
  if (editableState(control) !== null) return control;
  const fields = queryDeep(control, 'input,textarea,[contenteditable]').filter((field) => editableState(field) && !isHidden(field));
  return fields.length === 1 ? fields[0] : control;
}

/** Of what is edited in place, the outermost: that is what takes the focus. */
function editingHost(element) {
  let host = element;
  for (let outer = parentNode(element); isElement(outer) && isEditable(outer); outer = parentNode(outer)) host = outer;
  return host;
}

const CLICKABLE_AROUND = 'button,a[href],summary,[role=button],[role=link],[role=checkbox],[role=radio],[role=switch],[role=tab],[role=menuitem],[role=option]';
