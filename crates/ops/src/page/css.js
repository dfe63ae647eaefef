// CSS that goes through open shadow roots, with the few additions agents write out of habit:
// :has-text("..."), :text("..."), :contains("...") and :visible at the end of a selector.

const ADDITION = /:(has-text|text-is|text|contains)\(\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^()]*)\s*\)$|:visible$/;

function byCss(scope, body) {
  let selector = body.trim();
  const tests = [];
  for (let found = ADDITION.exec(selector); found; found = ADDITION.exec(selector)) {
    tests.push(additionTest(found[1], found[2]));
    selector = selector.slice(0, -found[0].length);
  }
  if (selector === '' || /[\s>+~,]$/.test(selector)) selector += '*';
  const elements = plainCss(scope, selector);
  return tests.length === 0 ? elements : elements.filter((element) => tests.every((test) => test(element)));
}

function additionTest(kind, body) {
  if (!kind) return isVisible;
  const quoted = /^(["'])(.*)\1$/s.exec(body);
  const wanted = squeeze(quoted ? quoted[2].replace(/\\(["'\\])/g, '$1') : body);
  if (kind === 'text-is') return (element) => squeeze(textOf(element)) === wanted;
  const lower = wanted.toLowerCase();
  return (element) => !NEVER_SHOWN.has(tagOf(element)) && squeeze(textOf(element)).toLowerCase().includes(lower);
}

function plainCss(scope, selector) {
  let found;
  try {
    found = queryDeep(scope, selector);
  } catch {
    throw new LocatorError(cssHint(selector));
  }
  if (found.length > 0 || rootsBelow(scope).length < 2) return found;
  return acrossShadows(scope, selector);
}

function cssHint(selector) {
  const shown = cut(selector, 200);
  const hints = [];
  if (/:(has-text|text|contains|visible)\b/.test(selector)) hints.push(':has-text() and :visible work only at the end of a selector');
  if (/^\s*\/|\[@/.test(selector)) hints.push('for XPath write xpath=//...');
  if (/^[\w ]+$/.test(selector) || /^[A-Z]/.test(selector)) hints.push('for visible text write text=...');
  if (/[#.]\d/.test(selector)) hints.push('an id or class that begins with a digit is written [id="1a"]');
  if (hints.length === 0) hints.push('other locators: text=..., role=button[name="..."], label=..., xpath=//..., testid=...');
  return `"${shown}" is no valid CSS selector; ${hints.join('; ')}.`;
}

/** `my-app button`, where the button is in the shadow root of my-app: each part may be in a tree of its own. */
function acrossShadows(scope, selector) {
  const found = new Set();
  for (const parts of splitSelectors(selector)) {
    if (parts.length < 2) continue;
    for (const element of queryDeep(scope, parts.at(-1).compound)) {
      if (fitsUpwards(element, parts, parts.length - 1)) found.add(element);
    }
  }
  return [...found];
}

function fitsUpwards(element, parts, at) {
  if (at === 0) return true;
  const { combinator } = parts[at];
  const { compound } = parts[at - 1];
  if (combinator === '+' || combinator === '~') return false;
  for (let outer = composedParent(element), left = 500; outer && left > 0; outer = composedParent(outer), left--) {
    if (matchesCss(outer, compound) && fitsUpwards(outer, parts, at - 1)) return true;
    if (combinator === '>') return false;
  }
  return false;
}

/** Lists of `{compound, combinator}` for each selector of a comma list. */
function splitSelectors(selector) {
  const lists = [];
  let parts = [];
  let compound = '';
  let combinator = '';
  const end = () => {
    if (compound) parts.push({ compound, combinator });
    compound = '';
    combinator = ' ';
  };
  for (const token of selector.match(/\\.|\[(?:"[^"]*"|'[^']*'|[^\]])*\]|\((?:[^()]|\([^()]*\))*\)|\s*[>+~,]\s*|\s+|./gs) ?? []) {
    const sign = token.trim();
    if (sign === ',') {
      end();
      lists.push(parts);
      parts = [];
    } else if (sign === '>' || sign === '+' || sign === '~' || sign === '') {
      end();
      combinator = sign || ' ';
    } else compound += token;
  }
  end();
  lists.push(parts);
  return lists;
}
