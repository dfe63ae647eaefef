// Locators as text: `role=button[name="Save"] >> nth=0` parsed into steps. Nothing here looks at the page.

const ENGINES = NAMES('css text role xpath label testid placeholder alt title nth id visible');

class LocatorError extends Error {}

/** Steps of `{engine, body}` in order; a text that names no engine is CSS, as is what begins with none. */
function parseLocator(text) {
  if (typeof text !== 'string' || text.trim() === '') throw new LocatorError('The locator is empty.');
  if (text.length > 10_000) throw new LocatorError('The locator is too long.');
  return splitChain(text).map(parseStep);
}

/** Splits at `>>` outside of quotes and brackets. */
function splitChain(text) {
  const parts = [];
  let quote = '';
  let deep = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '\\') i++;
    else if (quote) quote = c === quote ? '' : quote;
    // An apostrophe inside a word is no quote: text=Don't.
    else if ((c === '"' || c === '\'') && !/\w/.test(text[i - 1] ?? '')) quote = c;
    else if (c === '[' || c === '(') deep++;
    else if (c === ']' || c === ')') deep = Math.max(0, deep - 1);
    else if (deep === 0 && c === '>' && text[i + 1] === '>') {
      parts.push(text.slice(start, i));
      start = ++i + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

function parseStep(part) {
  const text = part.trim();
  if (text === '') throw new LocatorError('A part of the locator is empty.');
  const named = /^([a-z]+)\s*=\s*([\s\S]*)$/i.exec(text);
  if (named && ENGINES.has(named[1].toLowerCase())) return engineStep(named[1].toLowerCase(), named[2]);
  if (text.startsWith('//') || text.startsWith('(//') || text.startsWith('..')) return { engine: 'xpath', body: text };
  if (/^(["']).*\1$/s.test(text)) return engineStep('text', text);
  return { engine: 'css', body: text };
}

function engineStep(engine, body) {
  if (engine === 'nth') {
    if (!/^-?\d+$/.test(body)) throw new LocatorError(`nth= needs a number, not "${body}".`);
    return { engine, index: Number(body) };
  }
  if (engine === 'visible') return { engine, wanted: body !== 'false' };
  if (body === '') throw new LocatorError(`${engine}= needs a value.`);
  if (engine === 'role') return { engine, ...parseRole(body) };
  if (engine === 'css' || engine === 'xpath' || engine === 'id') return { engine, body };
  return { engine, fits: textTest(body, engine === 'testid') };
}

/**
 * A test of texts: "quoted" is exact, /regular/i as it says, anything else a part of it in any case.
 * Its `within` tells whether a part of a text could pass; without it, whatever holds what passes does so too.
 */
function textTest(body, exact) {
  const expression = /^\/(.+)\/([a-z]*)$/s.exec(body);
  if (expression) return expressionTest(expression[1], expression[2]);
  const quoted = /^(["'])(.*)\1\s*([is]?)$/s.exec(body);
  const wanted = squeeze(quoted ? quoted[2].replace(/\\(["'\\])/g, '$1') : body);
  if ((quoted && quoted[3] !== 'i') || exact) {
    return Object.assign((text) => squeeze(text) === wanted, { within: (text) => squeeze(text).includes(wanted) });
  }
  const lower = wanted.toLowerCase();
  return (text) => squeeze(text).toLowerCase().includes(lower);
}

function expressionTest(source, flags) {
  try {
    const expression = new RegExp(source, flags.replace(/[gy]/g, ''));
    return Object.assign((text) => expression.test(squeeze(text)), { within: () => true });
  } catch (error) {
    throw new LocatorError(`Bad regular expression: ${error.message}`);
  }
}

const ROLE_STATES = NAMES('checked disabled expanded pressed selected level exact include-hidden');

/** `button[name="Save"][exact][checked=mixed]`. */
function parseRole(body) {
  const role = /^[\w-]+/.exec(body)?.[0].toLowerCase();
  if (!role) throw new LocatorError('role= needs the name of a role, such as role=button.');
  const states = [];
  let name = null;
  let rest = body.slice(role.length).trim();
  while (rest !== '') {
    const found = /^\[\s*([\w-]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\/(?:[^/\\]|\\.)+\/[a-z]*|[^\]]*?)\s*([is])?\s*)?\]\s*/.exec(rest);
    if (!found) throw new LocatorError(`Cannot read "${rest}" in role=${body}. Write role=${role}[name="..."].`);
    const key = found[1].toLowerCase();
    if (key === 'name') name = { text: found[2] ?? '', exact: found[3] === 's' };
    else if (ROLE_STATES.has(key)) states.push({ key, value: found[2] ?? 'true' });
    else throw new LocatorError(`role= knows no [${key}]; it knows name, ${[...ROLE_STATES].join(', ')}.`);
    rest = rest.slice(found[0].length);
  }
  const exact = name?.exact || states.some(({ key, value }) => key === 'exact' && value !== 'false');
  return { role: role === 'image' ? 'img' : role, fits: name && nameTest(name.text, exact), states };
}

function nameTest(text, exact) {
  const quoted = /^(["'])(.*)\1$/s.exec(text);
  const plain = quoted ? quoted[2].replace(/\\(["'\\])/g, '$1') : text;
  if (exact) return textTest(JSON.stringify(plain));
  if (quoted) {
    const wanted = squeeze(plain).toLowerCase();
    return (name) => name.toLowerCase().includes(wanted);
  }
  return textTest(plain);
}
