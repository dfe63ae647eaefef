// Lists to choose from, native or built by the page, and what is checked.

const optionRow = (option, index) => ({ value: option.value, label: squeeze(option.label || option.text), index });

function selectOptions({ ref, options = [] }) {
  return withElement(ref, (found) => {
    const list = controlOf(found);
    if (tagOf(list) !== 'select') return failure('not_select', `${inWords(list)} is no select element; open it and click an option.`, { role: roleOf(list) });
    if (isDisabled(list)) return failure('not_enabled', `${inWords(list)} is disabled.`);
    const all = Array.from(list.options).slice(0, MAX_NODES);
    const available = () => all.slice(0, 200).map(optionRow);
    const wanted = Array.isArray(options) ? options : [options];
    const chosen = [];
    for (const want of list.multiple ? wanted : wanted.slice(0, 1)) {
      const option = matchingOption(all, want);
      if (!option) return failure('no_option', `${inWords(list)} has no option ${JSON.stringify(want)}.`, { available: available() });
      if (isDisabled(option)) return failure('not_enabled', `The option "${squeeze(option.text)}" is disabled.`, { available: available() });
      chosen.push(option);
    }
    giveFocus(list);
    const changed = all.some((option) => option.selected !== chosen.includes(option));
    if (list.multiple) for (const option of all) option.selected = chosen.includes(option);
    else if (chosen[0]) chosen[0].selected = true;
    else list.selectedIndex = -1;
    if (changed) announce(list);
    return { selected: chosen.map((option) => optionRow(option, all.indexOf(option))), changed };
  });
}

/** By value, by label as it is shown, and at last by label in any case. */
function matchingOption(all, want) {
  if (typeof want === 'number') return all[want];
  if (want !== null && typeof want === 'object') {
    if (want.index !== undefined) return all[Number(want.index)];
    if (want.value !== undefined) return all.find((option) => option.value === String(want.value));
    return byOptionLabel(all, String(want.label ?? ''));
  }
  const text = String(want);
  return all.find((option) => option.value === text) ?? byOptionLabel(all, text);
}

function byOptionLabel(all, label) {
  const wanted = squeeze(label);
  const labelOf = (option) => squeeze(option.label || option.text);
  return all.find((option) => labelOf(option) === wanted)
    ?? all.find((option) => labelOf(option).toLowerCase() === wanted.toLowerCase());
}

const CUSTOM_OPTIONS = '[role=option],[role=menuitem],[role=menuitemradio],[role=menuitemcheckbox],[role=treeitem]';
const CHECKABLES = 'input[type=checkbox],input[type=radio],[role=checkbox],[role=radio],[role=switch]';
const CUSTOM_LISTS = '[role=listbox],[role=menu],[role=tree],[role=grid]';

function listOptions({ ref, next, max = 500 }) {
  reserve(next);
  return withElement(ref, (found) => {
    const element = controlOf(found);
    const answer = optionsOf(element, Math.min(max, MAX_MATCHES));
    return answer.error ? answer : { ...answer, next: nextRef };
  });
}

function optionsOf(element, max) {
  const tag = tagOf(element);
  if (tag === 'select') {
    const options = nativeRows(element.options, max, (option) => option.selected);
    return { type: 'select', isOpen: false, multiple: element.multiple, options, total: element.options.length };
  }
  if (tag === 'input' && element.list) {
    const options = nativeRows(element.list.options, max, (option) => option.value === element.value);
    return { type: 'datalist', isOpen: false, options, total: element.list.options.length };
  }
  const type = roleOf(element);
  const list = customList(element);
  if (list) {
    const items = itemsOf(list);
    const isOpen = items.length > 0 && isVisible(list);
    return { type: type === 'generic' ? roleOf(list) : type, isOpen, options: items.slice(0, max).map(customRow), total: items.length };
  }
  // Many lists are made only when they are opened.
  const opens = hasAttribute(element, 'aria-haspopup') || expandedState(element) !== null || type === 'combobox';
  if (opens) return { type, isOpen: false, options: [], total: 0 };
  return failure('not_select', `${inWords(element)} has no options.`, { role: type });
}

function nativeRows(options, max, isSelected) {
  return Array.from(options).slice(0, max).map((option) => ({
    value: option.value, text: squeeze(option.label || option.text || option.value), selected: isSelected(option), disabled: isDisabled(option),
    ref: refOf(option),
  }));
}

function itemsOf(list) {
  const items = queryDeep(list, CUSTOM_OPTIONS);
  return (items.length > 0 ? items : queryDeep(list, 'li')).filter((item) => !isHidden(item));
}

function customRow(item) {
  return {
    value: attribute(item, 'data-value') ?? attribute(item, 'value') ?? nameOf(item), text: nameOf(item) || shortText(item),
    selected: selectedState(item) === true || checkedState(item) === true, disabled: isDisabled(item), ref: refOf(item),
  };
}

/** The list that belongs to an element: itself, the one it controls, one inside it, or the only one that is open. */
function customList(element) {
  if (matchesCss(element, CUSTOM_LISTS)) return element;
  for (const name of ['aria-controls', 'aria-owns']) {
    for (const id of (attribute(element, name) ?? '').split(/\s+/, 10)) {
      const other = id && byId(element, id);
      if (other) return other;
    }
  }
  const inside = queryDeep(element, CUSTOM_LISTS)[0];
  if (inside) return inside;
  const inner = queryDeep(element, '[aria-controls],[aria-owns]')[0];
  if (inner) return customList(inner);
  if (queryDeep(element, CUSTOM_OPTIONS).length > 0) return element;
  const open = queryDeep(document, CUSTOM_LISTS).filter(isVisible);
  return open.length === 1 && expandedState(element) !== false ? open[0] : null;
}

function checkState({ ref }) {
  return withElement(ref, (found) => {
    let element = controlOf(found);
    if (checkedState(element) === null) element = queryDeep(element, CHECKABLES)[0] ?? element;
    const kind = roleOf(element);
    const checked = checkedState(element) ?? (kind === 'button' ? pressedState(element) : null);
    if (checked === null) return failure('not_checkable', `${inWords(element)} is no checkbox, radio button or switch.`, { role: kind });
    return { checked, kind, disabled: isDisabled(element), ref: refOf(element), next: nextRef };
  });
}
