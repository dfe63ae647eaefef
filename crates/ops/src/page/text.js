// The text of a page to read: the article if there is one, without what stands around it.

const AROUND_TAGS = NAMES('nav aside footer dialog menu form button input textarea select');
const AROUND_ROLES = NAMES('navigation complementary contentinfo banner dialog alertdialog search menu menubar toolbar tablist');
const AROUND_WORDS = new RegExp('(^|[-_ ])(cookie|consent|gdpr|newsletter|subscribe|share|sharing|social|breadcrumbs?|sidebar|advert|ads?|'
  + 'promo|popup|related|comments?|sponsor)([-_ ]|$)', 'i');

function readText({ ref, readable = true, max = 100_000 }) {
  const bound = Math.min(max > 0 ? max : 100_000, MAX_ANSWER);
  let element = bodyOf(document) ?? pageElement(document);
  let source = 'body';
  if (ref !== undefined && ref !== null) {
    element = elementOf(ref);
    if (!element) return stale(ref);
    source = 'element';
  } else if (readable) ({ element, source } = articleOf(element));
  const whole = element ? (readable ? markdownOf(element, source, bound) : plainText(element, bound)) : '';
  const page = pageElement(document);
  return {
    title: titleOf(document), byline: readable ? bylineOf() : '', lang: (page && attribute(page, 'lang')) ?? '',
    text: whole.slice(0, bound), length: whole.length, truncated: whole.length > bound, source,
  };
}

function markdownOf(element, source, max) {
  const skip = source === 'element' ? isCutOff : isAround;
  const writer = new MarkdownWriter({ max, skip });
  if (source === 'element') writer.element(element);
  else writer.children(element);
  const text = writer.result();
  // A page that is all forms and menus has no article: then all of it is better than nothing.
  if (source !== 'element' && text.length < 200) {
    const all = new MarkdownWriter({ max, skip: isCutOff });
    all.children(bodyOf(document) ?? element);
    const more = all.result();
    if (more.length > text.length * 2) return more;
  }
  return text;
}

/** What stands around an article: menus, footers, cookie banners. */
function isAround(element, tag) {
  if (isCutOff(element)) return true;
  if (AROUND_TAGS.has(tag)) return true;
  const role = attribute(element, 'role');
  if (role && AROUND_ROLES.has(role)) return true;
  if (tag !== 'div' && tag !== 'section' && tag !== 'ul') return false;
  const words = `${attribute(element, 'class') ?? ''} ${attribute(element, 'id') ?? ''}`;
  return words.length > 1 && words.length < 500 && AROUND_WORDS.test(words);
}

/** Text as it is drawn. The browser's own is the best there is, as long as no shadow roots are in it. */
function plainText(element, max) {
  if (element instanceof HTMLElement && rootsBelow(element).length === 1) return innerTextOf(element).replace(/\n{3,}/g, '\n\n').trim();
  const writer = new MarkdownWriter({ max, plain: true });
  writer.element(element);
  return writer.result();
}

/** The article, the main part, or the container that has most of the text in paragraphs. */
function articleOf(body) {
  const isBig = (element) => !isHidden(element) && textOf(element).length > 250;
  const articles = queryDeep(document, 'article,[role=article]').filter(isBig);
  const [main] = queryDeep(document, 'main,[role=main]').filter((element) => !isHidden(element));
  // Several articles are a list of teasers, unless one of them outweighs the others.
  const weights = articles.map((article) => textOf(article).length);
  const heaviest = Math.max(0, ...weights);
  const rest = weights.reduce((sum, weight) => sum + weight, 0) - heaviest;
  if (heaviest > rest) return { element: articles[weights.indexOf(heaviest)], source: 'article' };
  if (main) return { element: main, source: 'main' };
  const dense = densest(body);
  return dense ? { element: dense, source: 'article' } : { element: body, source: 'body' };
}

function densest(body) {
  const scores = new Map();
  let total = 0;
  for (const paragraph of queryDeep(document, 'p,pre,blockquote').slice(0, 5_000)) {
    const length = squeeze(textOf(paragraph)).length;
    if (length < 40 || isHidden(paragraph)) continue;
    total += length;
    const parent = composedParent(paragraph);
    const outer = parent && composedParent(parent);
    if (parent) scores.set(parent, (scores.get(parent) ?? 0) + length);
    if (outer) scores.set(outer, (scores.get(outer) ?? 0) + length * 0.7);
  }
  let best = null;
  for (const [element, score] of scores) if (!best || score > scores.get(best)) best = element;
  if (!best || best === body || scores.get(best) < 500 || scores.get(best) < total * 0.5) return null;
  return best;
}

function bylineOf() {
  for (const meta of query(document, 'meta[name=author],meta[property="article:author"]')) {
    const name = squeeze(attribute(meta, 'content') ?? '');
    if (name && !/^https?:/.test(name)) return cut(name, 100);
  }
  for (const element of queryDeep(document, '[rel=author],[itemprop=author],.byline,.author').slice(0, 5)) {
    const name = squeeze(textOf(element));
    if (name && name.length < 100) return name;
  }
  return '';
}
