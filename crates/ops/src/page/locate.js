// Finding elements by locators.

const MAX_MATCHES = 5_000;

function findElements({ locator, next, all, max }) {
  reserve(next);
  const found = locate(locator);
  if (found.error) return { ...found, next: nextRef };
  const bound = Math.min(max > 0 ? max : all ? 1000 : 10, MAX_MATCHES);
  return { matches: found.elements.slice(0, bound).map(matchOf), total: found.elements.length, next: nextRef };
}

function matchOf(element) {
  return {
    ref: refOf(element), role: roleOf(element), name: cut(nameOf(element), 200), tag: tagOf(element), text: shortText(element),
    visible: isVisible(element), enabled: !isDisabled(element),
  };
}

const shortText = (element, max = 100) => cut(squeeze(textOf(element).slice(0, max * 20)), max);

/** `{elements}`, what is visible first, or an error. */
function locate(locator) {
  try {
    let scopes = [document];
    for (const step of parseLocator(locator)) scopes = take(step, scopes);
    return { elements: visibleFirst(scopes.filter(isElement)) };
  } catch (error) {
    if (error instanceof LocatorError) return failure('bad_locator', error.message);
    throw error;
  }
}

function visibleFirst(elements) {
  if (elements.length < 2) return elements;
  const seen = [];
  const unseen = [];
  for (const element of elements.slice(0, MAX_MATCHES)) (isVisible(element) ? seen : unseen).push(element);
  return [...seen, ...unseen];
}

function take(step, scopes) {
  if (step.engine === 'nth') {
    const found = visibleFirst(scopes).at(step.index);
    return found ? [found] : [];
  }
  if (step.engine === 'visible') return scopes.filter((element) => isElement(element) && isVisible(element) === step.wanted);
  const found = new Set();
  for (const scope of scopes) {
    for (const element of STEPS[step.engine](scope, step)) {
      if (found.size >= MAX_NODES) break;
      found.add(element);
    }
  }
  return [...found];
}

const CONTROLS = 'input,textarea,select,button,meter,progress,output,[contenteditable],[role],[aria-label],[aria-labelledby]';

const STEPS = {
  css: (scope, { body }) => byCss(scope, body),
  id: (scope, { body }) => queryDeep(scope, `[id=${JSON.stringify(body)}]`),
  xpath: (scope, { body }) => byXpath(scope, body),
  text: (scope, { fits }) => byText(scope, fits),
  role: byRole,
  label: (scope, { fits }) => byLabel(scope, fits),
  testid: (scope, { fits }) => byAttribute(scope, ['data-testid', 'data-test-id', 'data-test'], fits),
  placeholder: (scope, { fits }) => byAttribute(scope, ['placeholder', 'aria-placeholder'], fits),
  alt: (scope, { fits }) => byAttribute(scope, ['alt'], fits),
  title: (scope, { fits }) => byAttribute(scope, ['title'], fits),
};

function byAttribute(scope, names, fits) {
  const selector = names.map((name) => `[${name}]`).join(',');
  return queryDeep(scope, selector).filter((element) =>
    names.some((name) => hasAttribute(element, name) && fits(attribute(element, name))));
}

function byXpath(scope, body) {
  try {
    // Inside of something, `//a` means what is below it.
    const expression = scope !== document && body.startsWith('/') ? `.${body}` : body;
    const result = new XPathEvaluator().evaluate(expression, scope, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
    const found = [];
    for (let i = 0; i < Math.min(result.snapshotLength, MAX_NODES); i++) {
      if (isElement(result.snapshotItem(i))) found.push(result.snapshotItem(i));
    }
    return found;
  } catch (error) {
    throw new LocatorError(`"${cut(body, 200)}" is no valid XPath: ${error.message}`);
  }
}

/** The smallest elements whose text fits: whoever has a child that fits is not it. */
function byText(scope, fits) {
  const found = [];
  const within = fits.within ?? fits;
  let left = MAX_NODES;
  const search = (element, depth) => {
    if (--left < 0 || depth > MAX_DEPTH || NEVER_SHOWN.has(tagOf(element)) || !within(textOf(element))) return false;
    let inner = false;
    eachChild(element, (child) => {
      if (nodeType(child) === ELEMENT && search(child, depth + 1)) inner = true;
    });
    if (inner) return true;
    const own = fits === within || fits(textOf(element));
    if (own) found.push(element);
    return own;
  };
  const start = scope === document ? bodyOf(document) ?? pageElement(document) : scope;
  if (start) search(start, 0);
  return found;
}

/** All the text inside, hidden or not, through shadow roots; for a button of an input its value. */
function textOf(element, depth = 0) {
  const known = cache.texts.get(element);
  if (known !== undefined) return known;
  let text = '';
  const tag = tagOf(element);
  if (tag === 'input') {
    if (element.type === 'submit' || element.type === 'button' || element.type === 'reset') text = element.value;
  } else if (!OPAQUE.has(tag)) {
    eachChild(element, (child) => {
      const type = nodeType(child);
      if (type === TEXT) text += nodeValue(child);
      else if (type === ELEMENT && text.length < MAX_ANSWER && depth < MAX_DEPTH && !NEVER_SHOWN.has(tagOf(child))) text += textOf(child, depth + 1);
    });
  }
  cache.texts.set(element, text);
  return text;
}

function byRole(scope, { role, fits, states }) {
  return queryDeep(scope, '*').filter((element) =>
    roleOf(element) === role && !NEVER_SHOWN.has(tagOf(element))
      && states.every((state) => hasState(element, state)) && (!fits || fits(nameOf(element))));
}

function hasState(element, { key, value }) {
  const is = (state) => String(state ?? false) === value;
  switch (key) {
    case 'checked': return is(checkedState(element));
    case 'disabled': return is(isDisabled(element));
    case 'expanded': return is(expandedState(element));
    case 'pressed': return is(pressedState(element));
    case 'selected': return is(selectedState(element));
    case 'level': return levelOf(element) === Number(value);
    default: return true;
  }
}

/** Controls by their labels; a placeholder only counts when no label fits. */
function byLabel(scope, fits) {
  const controls = queryDeep(scope, CONTROLS);
  const labelled = controls.filter((control) => labelTexts(control).some(fits));
  if (labelled.length > 0) return labelled;
  return controls.filter((control) => hasAttribute(control, 'placeholder') && fits(attribute(control, 'placeholder')));
}

function labelTexts(control) {
  const texts = [];
  const said = attribute(control, 'aria-label');
  if (said) texts.push(said);
  const named = nameByIds(control, new Set());
  if (named) texts.push(named);
  if (LABELLED_TAGS.has(tagOf(control))) {
    for (const label of labelsOf(control)) {
      texts.push(textOf(label), accessibleName(label, { seen: new Set([control]), via: 'label' }));
    }
  }
  return texts;
}
