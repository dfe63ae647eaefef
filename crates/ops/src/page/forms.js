// Forms and their fields, as one would list them on paper.

const FIELDS = 'input,select,textarea,[contenteditable],[role=textbox],[role=combobox],'
  + '[role=checkbox],[role=radio],[role=switch],[role=slider],[role=spinbutton],[role=listbox]';
const MAX_FIELDS = 2_000;

function listForms({ next }) {
  reserve(next);
  return { forms: collectForms(), next: nextRef };
}

function collectForms() {
  const byForm = new Map();
  for (const form of queryDeep(document, 'form').slice(0, 200)) byForm.set(form, []);
  byForm.set(null, []);
  for (const element of fieldElements()) {
    const form = formOf(element);
    (byForm.get(form) ?? byForm.get(null)).push(element);
  }
  const forms = [];
  for (const [form, elements] of byForm) {
    if (!form && elements.length === 0) continue;
    forms.push({
      ref: form && refOf(form), id: (form && attribute(form, 'id')) ?? '', name: (form && attribute(form, 'name')) ?? '',
      action: (form && attribute(form, 'action')) ?? '', method: ((form && attribute(form, 'method')) || (form ? 'get' : '')).toLowerCase(),
      fields: elements.map(fieldOf),
    });
  }
  return forms;
}

/** All fields but hidden ones; of nested ones, as a combobox around an input, the outer has no value of its own. */
function fieldElements() {
  return queryDeep(document, FIELDS).filter((element) => {
    const tag = tagOf(element);
    if (tag === 'input') return element.type !== 'hidden';
    if (tag === 'select' || tag === 'textarea') return true;
    if (hasAttribute(element, 'contenteditable') && !isEditingHost(element) && !explicitRole(element)) return false;
    return queryDeep(element, 'input,select,textarea').length === 0;
  }).slice(0, MAX_FIELDS);
}

const formOfControl = (element) => element.form ?? null;

function formOf(element) {
  if (LABELLED_TAGS.has(tagOf(element)) && tagOf(element) !== 'meter' && tagOf(element) !== 'progress') return formOfControl(element);
  return closest(element, 'form');
}

function fieldOf(element) {
  const tag = tagOf(element);
  const type = typeOfField(element);
  const secret = type === 'password';
  const value = tag === 'select' ? element.value : tag === 'input' && (type === 'checkbox' || type === 'radio') ? element.value : valueOf(element) ?? '';
  const field = {
    ref: refOf(element), name: attribute(element, 'name') ?? '', id: attribute(element, 'id') ?? '', type, label: labelFor(element),
    value: secret ? '' : cut(value, 2_000), required: isRequired(element), disabled: isDisabled(element), visible: isVisible(element),
  };
  if (secret) field.filled = value !== '';
  const checked = checkedState(element);
  if (checked !== null) field.checked = checked;
  if (tag === 'select') {
    field.options = Array.from(element.options).slice(0, 200).map((option) => ({
      value: option.value, label: squeeze(option.label || option.text), selected: option.selected, disabled: isDisabled(option),
    }));
  }
  const hint = attribute(element, 'placeholder');
  if (hint) field.placeholder = cut(hint, 200);
  return field;
}

function typeOfField(element) {
  const tag = tagOf(element);
  if (tag === 'input') return element.type;
  if (tag === 'select') return element.multiple ? 'select-multiple' : 'select';
  return tag === 'textarea' ? tag : roleOf(element);
}

const isRequired = (element) => hasAttribute(element, 'required') || attribute(element, 'aria-required') === 'true';

/** What people read beside a field: its name, or else the text just before it. */
function labelFor(element) {
  const name = nameOf(element);
  if (name) return cut(name, 300);
  return cut(textBefore(element), 200);
}

/** Many forms put the label before the field without saying that it is one. */
function textBefore(element) {
  for (let node = element, up = 0; node && up < 3; node = parentNode(node), up++) {
    if (!isElement(node) || tagOf(node) === 'form' || tagOf(node) === 'body') break;
    for (let before = previousSibling(node), left = 5; before && left > 0; before = previousSibling(before), left--) {
      const tidy = squeeze(labellingText(before).slice(0, 2_000));
      if (tidy) return tidy.length < 200 ? tidy : '';
    }
  }
  return '';
}

/** The text of a node beside a field, unless it is drawn nowhere or has fields of its own. */
function labellingText(node) {
  if (nodeType(node) === TEXT) return nodeValue(node);
  if (!isElement(node) || isHidden(node)) return '';
  return queryDeep(node, 'input,select,textarea').length === 0 ? textOf(node) : '';
}
