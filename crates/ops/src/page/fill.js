// Focus, selections and values. Text is typed by the hub with real input; only what cannot be typed is set here.

const focusHtml = method(HTMLElement, 'focus');
const focusSvg = method(SVGElement, 'focus');
const dispatch = method(EventTarget, 'dispatchEvent');
const setInput = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
const setTextarea = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set;

function giveFocus(found) {
  const element = isEditable(found) ? editingHost(found) : found;
  if (activeElement() === element) return;
  (element instanceof SVGElement ? focusSvg : focusHtml)(element, { preventScroll: false });
}

const hasFocus = (element) => {
  const active = activeElement();
  return Boolean(active) && composedContains(element, active);
};

function focusRef({ ref }) {
  return withElement(ref, (element) => {
    const control = controlOf(element);
    giveFocus(control);
    return { focused: hasFocus(control) };
  });
}

function isFocusedRef({ ref }) {
  return withElement(ref, (element) => ({ focused: hasFocus(controlOf(element)), document: documentHasFocus(document) }));
}

const cannotEdit = (element) => {
  const tag = tagOf(element);
  const type = tag === 'input' ? element.type : '';
  const hint = type === 'checkbox' || type === 'radio' ? ' Check it instead.' : type === 'file' ? ' Upload files instead.' : '';
  const reason = editableState(element) === false ? 'is read-only' : isDisabled(element) ? 'is disabled' : 'takes no text';
  return failure('not_editable', `${inWords(element)} ${reason}.${hint}`, { tag, type });
};

/** Gives an editable element the focus and selects all that is in it. */
function selectTextOf({ ref }) {
  return withElement(ref, (element) => {
    const control = fieldFor(element);
    if (editableState(control) === null || tagOf(control) === 'select') return cannotEdit(control);
    selectAll(control);
    return { selected: true, empty: (valueOf(control) ?? '') === '' };
  });
}

function selectAll(element) {
  giveFocus(element);
  const tag = tagOf(element);
  if (tag === 'input' || tag === 'textarea') return void element.select();
  const range = new Range();
  range.selectNodeContents(element);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
}

/** Sets what cannot be typed and says `done`; makes what can be typed ready for it and says `type`. */
function setValueOf({ ref, value }) {
  return withElement(ref, (found) => {
    const element = fieldFor(found);
    const tag = tagOf(element);
    const text = String(value ?? '');
    if (tag === 'select') return { ...selectOptions({ ref: refOf(element), options: [text] }), done: true };
    if (!editableState(element) || isDisabled(element)) return cannotEdit(element);
    if (tag === 'input' && !TYPED.has(element.type)) return setDirectly(element, text);
    if (text === '') return clearElement(element);
    selectAll(element);
    return { type: true };
  });
}

/** Dates, colours, ranges: the browser has pickers for them, so the value is set as a picker does it. */
function setDirectly(input, text) {
  giveFocus(input);
  const before = input.value;
  const wanted = input.type === 'color' ? text.toLowerCase() : text.trim();
  setInput.call(input, wanted);
  // A slider moves what is out of its range to its end, and that is an answer; a date that is none becomes empty.
  const taken = input.type === 'range' ? wanted !== '' && Number.isFinite(Number(wanted)) : sameValue(input.value, wanted);
  if (!taken) {
    setInput.call(input, before);
    const example = EXAMPLES[input.type] ?? 'the browser does';
    const message = `${inWords(input)} of type ${input.type} does not take "${cut(text, 100)}"; write it as ${example}.`;
    return failure('bad_value', message, { type: input.type });
  }
  announce(input);
  return { done: true, value: input.value };
}

/** A time may be given back with or without its seconds. */
const sameValue = (given, wanted) => given === wanted || (wanted !== '' && given !== '' && (given.startsWith(wanted) || wanted.startsWith(given)));

const EXAMPLES = {
  date: '2031-12-24', time: '18:30', 'datetime-local': '2031-12-24T18:30', month: '2031-12', week: '2031-W52', color: '#ff8800',
  range: 'a number',
};

function announce(element) {
  dispatch(element, new Event('input', { bubbles: true, composed: true }));
  dispatch(element, new Event('change', { bubbles: true }));
}

function clearRef({ ref }) {
  return withElement(ref, (found) => {
    const element = fieldFor(found);
    if (!editableState(element) || isDisabled(element) || tagOf(element) === 'select') return cannotEdit(element);
    if (tagOf(element) === 'input' && !TYPED.has(element.type)) return setDirectly(element, '');
    return clearElement(element);
  });
}

/** Deletes as an editor does, so that the page sees real input events; if that does nothing, the value is set. */
function clearElement(element) {
  selectAll(element);
  const isEmpty = () => (valueOf(element) ?? '') === '';
  if (!isEmpty()) execCommand(document, 'delete');
  if (!isEmpty() && !isEditable(element)) {
    (tagOf(element) === 'textarea' ? setTextarea : setInput).call(element, '');
    announce(element);
  }
  return { done: true, value: isEmpty() ? '' : valueOf(element) };
}

/** What a file input takes; the hub puts the files in itself. */
function fileInput({ ref }) {
  return withElement(ref, (element) => {
    const own = controlOf(element);
    const inside = tagOf(own) === 'input' ? own : queryDeep(own, 'input[type=file]')[0] ?? own;
    if (tagOf(inside) !== 'input' || inside.type !== 'file') return failure('not_file_input', `${inWords(element)} is no file input.`);
    return { ref: refOf(inside), multiple: inside.multiple, accept: inside.accept, directory: inside.webkitdirectory === true, next: nextRef };
  });
}
