// HTML of the page as it stands, with open shadow roots in it. It is written out here and not cloned: a clone of a
// custom element would run the page's code.

const VOID_TAGS = NAMES('area base br col embed hr img input link meta param source track wbr');
const RAW_TAGS = NAMES('script style noscript xmp plaintext');
const KEPT_ATTRIBUTES = NAMES('id href src alt title name type value placeholder role for action method target rel colspan rowspan checked '
  + 'selected disabled readonly required multiple open lang datetime label content charset');

function pageHtml({ ref, removeScripts = false, removeStyles = false, clean = false, max = 500_000 }) {
  const bound = Math.min(max > 0 ? max : 500_000, MAX_ANSWER);
  const element = ref === undefined || ref === null ? pageElement(document) : elementOf(ref);
  if (!element) return ref === undefined || ref === null ? { html: '', length: 0, truncated: false } : stale(ref);
  const { html, full } = serialized(element, { max: bound, removeScripts: removeScripts || clean, removeStyles: removeStyles || clean, clean });
  return { html: html.slice(0, bound), length: html.length, truncated: full || html.length > bound };
}

/** The length is that of what was written: beyond `max` the page is not read. */
function serialized(element, { max, removeScripts = false, removeStyles = false, clean = false }) {
  const parts = [];
  let length = 0;
  let left = MAX_NODES * 2;
  const add = (text) => {
    parts.push(text);
    length += text.length;
  };
  const isLeftOut = (node, tag) => (removeScripts && (tag === 'script' || tag === 'noscript'))
    || (removeStyles && (tag === 'style' || (tag === 'link' && /stylesheet|preload/.test(attribute(node, 'rel') ?? ''))))
    || (clean && (tag === 'template' || tag === 'meta' || tag === 'link'));
  const write = (node, depth) => {
    if (length > max || --left < 0 || depth > MAX_DEPTH) return;
    const type = nodeType(node);
    if (type === TEXT) {
      const parent = parentNode(node);
      const raw = isElement(parent) && RAW_TAGS.has(tagOf(parent));
      const text = clean ? nodeValue(node).replace(/\s+/g, ' ') : nodeValue(node);
      return add(raw ? text : escapeText(text));
    }
    if (type === 8 && !clean) return add(`<!--${nodeValue(node)}-->`);
    if (type !== ELEMENT) return;
    const tag = tagOf(node);
    if (isLeftOut(node, tag)) return;
    add(`<${tag}${attributesText(node, { clean, removeScripts, removeStyles })}>`);
    if (VOID_TAGS.has(tag)) return;
    if (clean && tag === 'svg') return add('</svg>');
    const shadow = shadowOf(node);
    if (shadow) {
      add('<template shadowrootmode="open">');
      writeChildren(shadow, depth);
      add('</template>');
    }
    writeChildren(tag === 'template' && node instanceof HTMLTemplateElement ? node.content : node, depth);
    add(`</${tag}>`);
  };
  const writeChildren = (parent, depth) => {
    for (let node = firstChild(parent); node && length <= max; node = nextSibling(node)) write(node, depth + 1);
  };
  write(element, 0);
  return { html: parts.join(''), full: length > max || left < 0 };
}

function attributesText(element, { clean, removeScripts, removeStyles }) {
  const list = attributesOf(element);
  let text = '';
  for (let i = 0; i < Math.min(list.length, 200); i++) {
    const { name, value } = list[i];
    if (name === 'value' && attribute(element, 'type')?.toLowerCase() === 'password') continue;
    if (removeScripts && name.startsWith('on')) continue;
    if (removeStyles && name === 'style') continue;
    if (clean && !KEPT_ATTRIBUTES.has(name) && !name.startsWith('aria-') && !name.startsWith('data-test')) continue;
    const shown = clean && value.startsWith('data:') ? 'data:…' : value;
    text += shown === '' ? ` ${name}` : ` ${name}="${escapeText(shown).replaceAll('"', '&quot;')}"`;
  }
  return text;
}

const escapeText = (text) => text.replaceAll('&', '&amp;').replaceAll('\u00a0', '&nbsp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
