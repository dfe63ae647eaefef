// Lists of what one can act on, and of where a text stands.

/** What one can act on. Elements that only look clickable are told by their cursor, which costs a style for each. */
function interactiveElements() {
  const found = [];
  for (const element of queryDeep(document, '*')) {
    const tag = tagOf(element);
    if (NEVER_SHOWN.has(tag) || (tag === 'input' && element.type === 'hidden')) continue;
    const role = roleOf(element);
    if (role === 'option' && tag === 'option') continue;
    if (!INTERACTIVE_ROLES.has(role)) {
      if (!isClickable(element, tag, role, pointsItself(element)) || isWrapper(element)) continue;
    }
    if (!isBuried(element)) found.push(element);
  }
  return found;
}

/** The cursor is inherited: only where it begins is something to click, and not inside of what is a control. */
function pointsItself(element) {
  if (look(element) & (NO_BOX | UNSEEN) || !isPointer(element)) return false;
  const parent = composedParent(element);
  return !parent || !isPointer(parent);
}

/** Around a single control that says the same, one clicks the control. */
function isWrapper(element) {
  const inner = query(element, 'a[href],button,input,select,textarea,[role=button],[role=link]');
  return inner.length === 1 && squeeze(textOf(inner[0])) === squeeze(textOf(element));
}

function typeOfElement(element) {
  const tag = tagOf(element);
  if (tag === 'input') return INPUT_ROLES[element.type] === 'button' ? 'button' : element.type;
  const role = roleOf(element);
  return role === 'generic' ? 'clickable' : role;
}

function listElements({ next, filters, max = 200, verbose = false }) {
  reserve(next);
  const { type, text, tag, inViewport: within } = filters ?? {};
  const all = interactiveElements();
  const summary = {};
  for (const element of all) {
    const kind = typeOfElement(element);
    summary[kind] = (summary[kind] ?? 0) + 1;
  }
  const wanted = text ? squeeze(String(text)).toLowerCase() : '';
  const chosen = all.filter((element) =>
    (!type || typeOfElement(element) === type || roleOf(element) === type)
      && (!tag || tagOf(element) === String(tag).toLowerCase())
      && (!wanted || `${nameOf(element)} ${shortText(element, 500)}`.toLowerCase().includes(wanted))
      && (!within || inViewport(element)));
  const bound = Math.min(max > 0 ? max : 200, MAX_MATCHES);
  const elements = chosen.slice(0, bound).map((element, index) => elementRow(element, index, verbose));
  return { elements, total: all.length, filtered: chosen.length, truncated: chosen.length > bound, summary, next: nextRef };
}

function elementRow(element, index, verbose) {
  const tag = tagOf(element);
  const row = {
    index, ref: refOf(element), type: typeOfElement(element), tagName: tag, text: cut(nameOf(element) || shortText(element), verbose ? 500 : 100),
    selector: selectorOf(element), href: tag === 'a' ? String(element.href?.baseVal ?? element.href ?? '') : null, value: valueOf(element),
    rect: toRect(boxOf(element)), visible: isVisible(element), disabled: isDisabled(element),
  };
  return verbose ? { ...row, role: roleOf(element), attributes: attributesFor(element), checked: checkedState(element), inViewport: inViewport(element) } : row;
}

/** Places of a text in what is drawn, each with what stands around it. */
function searchText({ query: wanted, max = 20, next }) {
  reserve(next);
  const text = squeeze(String(wanted ?? ''));
  if (!text) return { found: false, matches: [], total: 0, next: nextRef };
  const lower = text.toLowerCase();
  const elements = byText(document, (own) => squeeze(own).toLowerCase().includes(lower)).filter((element) => !isHidden(element));
  const matches = elements.slice(0, Math.min(max, 500)).map((element) => {
    const own = squeeze(textOf(element));
    const at = own.toLowerCase().indexOf(lower);
    const around = own.length > text.length + 20 || !composedParent(element) ? own : squeeze(textOf(composedParent(element)).slice(0, 5_000));
    const from = Math.max(0, around.toLowerCase().indexOf(lower) - 80);
    return { text: own.slice(at, at + text.length), context: around.slice(from, from + text.length + 160), ref: refOf(element) };
  });
  return { found: matches.length > 0, matches, total: elements.length, next: nextRef };
}

/** Whether a text is to be seen anywhere, or the value of a field. Asked again and again, so the cheap look comes first. */
function hasText({ text }) {
  const wanted = squeeze(String(text ?? '')).toLowerCase();
  if (!wanted) return true;
  const body = bodyOf(document);
  if (!body) return false;
  const fits = (own) => squeeze(own).toLowerCase().includes(wanted);
  if (fits(innerTextOf(body))) return true;
  if (byText(document, fits).some((element) => element !== body && isVisible(element) && !isBuried(element))) return true;
  return queryDeep(document, 'input,textarea').some((field) => fits(valueOf(field) ?? '') && isVisible(field));
}
