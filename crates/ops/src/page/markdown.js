// Drawn text as light Markdown: headings, lists, code and table rows keep their form, all else is paragraphs.

const BLOCKS = NAMES('address article aside blockquote body dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 '
  + 'h6 header hr html legend li main nav ol p pre section summary table tbody td tfoot th thead tr ul');

class MarkdownWriter {
  text = '';
  left = MAX_NODES;
  /** Line ends that are due before the next text. */
  #due = 0;
  /** Whether a space would stand at the beginning of a line or after another one. */
  #open = true;
  /** After the mark of a list item its text follows, whatever blocks it is in. */
  #marked = false;
  /** Inside list items paragraphs are not parted by empty lines. */
  #tight = 0;
  #depth = 0;

  /** `skip` says which elements are left out; with `plain` there are no marks, only lines. */
  constructor({ max, skip = (_element, _tag) => false, plain = false }) {
    this.max = max;
    this.skip = skip;
    this.plain = plain;
  }

  /** Whether there is more than was asked for: then the rest of the page is not even read. */
  get full() {
    return this.text.length > this.max || this.left <= 0;
  }

  break(lines = 1) {
    if (this.#marked) return;
    if (this.text !== '') this.#due = Math.max(this.#due, this.#tight > 0 ? 1 : lines);
    this.#open = true;
  }

  write(text) {
    if (this.#due > 0) this.text += '\n'.repeat(this.#due);
    this.text += text;
    this.#due = 0;
    this.#marked = false;
    this.#open = text.endsWith(' ') || text.endsWith('\n');
  }

  inline(text) {
    const tidy = text.replace(/[\s\u00a0]+/g, ' ');
    const fitting = this.#open && tidy.startsWith(' ') ? tidy.slice(1) : tidy;
    if (fitting !== '') this.write(fitting);
  }

  /** What `work` writes into a part, as a text of its own. */
  capture(work) {
    const part = new MarkdownWriter({ max: this.max - this.text.length, skip: this.skip, plain: this.plain });
    part.left = this.left;
    part.#depth = this.#depth;
    work(part);
    this.left = part.left;
    return part.text.trim();
  }

  children(element) {
    if (this.#depth > MAX_DEPTH) return;
    this.#depth++;
    const folded = tagOf(element) === 'details' && !hasAttribute(element, 'open');
    eachChild(element, (child) => {
      if (this.full) return;
      const type = nodeType(child);
      if (type === TEXT && !folded) {
        if (!(look(element) & UNSEEN)) this.inline(nodeValue(child));
      } else if (type === ELEMENT && !(folded && isFolded(element, child))) this.element(child);
    });
    this.#depth--;
  }

  element(element) {
    this.left--;
    const tag = tagOf(element);
    if (NEVER_SHOWN.has(tag) || OPAQUE.has(tag) && tag !== 'img') return;
    const bits = look(element);
    if (bits & NO_BOX || this.skip(element, tag)) return;
    const special = this.plain ? undefined : this[`_${tag}`];
    if (special) return void special.call(this, element);
    if (tag === 'br') return this.break();
    if (tag === 'img' || tag === 'select' || tag === 'svg') return;
    if (tag === 'td' || tag === 'th') {
      this.children(element);
      return this.write('\t');
    }
    const block = BLOCKS.has(tag) || !isInline(element);
    if (block) this.break(tag === 'p' ? 2 : 1);
    this.children(element);
    if (block) this.break(tag === 'p' ? 2 : 1);
  }

  heading(element, level) {
    const title = squeeze(this.capture((part) => part.children(element)));
    if (!title) return;
    this.break(2);
    this.write(`${'#'.repeat(level)} ${title}`);
    this.break(2);
  }

  _h1(element) { this.heading(element, 1); }
  _h2(element) { this.heading(element, 2); }
  _h3(element) { this.heading(element, 3); }
  _h4(element) { this.heading(element, 4); }
  _h5(element) { this.heading(element, 5); }
  _h6(element) { this.heading(element, 6); }

  _ul(element) { this.list(element); }
  _ol(element) { this.list(element); }

  list(element) {
    const nested = closest(parentNode(element) ?? element, 'li') !== null;
    this.break(nested ? 1 : 2);
    this.children(element);
    this.break(nested ? 1 : 2);
  }

  _li(element) {
    const list = closest(element, 'ul,ol,menu');
    let deep = 0;
    for (let outer = list && parentNode(list); isElement(outer); outer = parentNode(outer)) if (tagOf(outer) === 'li') deep++;
    const mark = list && tagOf(list) === 'ol' ? `${placeInList(element)}. ` : '- ';
    if (squeeze(textOf(element).slice(0, 10_000)) === '' && queryDeep(element, 'img').length === 0) return;
    this.#marked = false;
    this.break();
    this.write('  '.repeat(Math.min(deep, 8)) + mark);
    this.#marked = true;
    this.#tight++;
    this.children(element);
    this.#marked = false;
    this.#tight--;
    this.break();
  }

  _pre(element) {
    const code = innerTextOf(element).replace(/\n+$/, '');
    this.break(2);
    if (code.trim()) this.write(`\`\`\`\n${code.slice(0, this.max)}\n\`\`\``);
    this.break(2);
  }

  _code(element) {
    const code = squeeze(textOf(element));
    if (code) this.write(`\`${code}\``);
  }

  _blockquote(element) {
    const quote = this.capture((part) => part.children(element));
    if (!quote) return;
    this.break(2);
    this.write(quote.split('\n').map((line) => `> ${line}`.trimEnd()).join('\n'));
    this.break(2);
  }

  _hr() {
    this.break(2);
  }

  _img(element) {
    const alt = squeeze(attribute(element, 'alt') ?? '');
    if (alt && !isCutOff(element)) this.inline(`[image: ${cut(alt, 200)}]`);
  }

  _tr(element) {
    const cells = [];
    eachChild(element, (child) => {
      if (!isElement(child) || this.full || NEVER_SHOWN.has(tagOf(child)) || look(child) & NO_BOX) return;
      cells.push(squeeze(this.capture((part) => part.children(child))).replaceAll('|', '\\|'));
    });
    this.break();
    if (cells.some(Boolean)) this.write(cells.length > 1 ? `| ${cells.join(' | ')} |` : cells[0]);
    this.break();
  }

  _table(element) {
    this.break(2);
    this.children(element);
    this.break(2);
  }

  result() {
    return this.text.replace(/[ \t]+\n/g, '\n').replace(/\n{3,}/g, '\n\n').trim();
  }
}

function placeInList(item) {
  const list = parentNode(item);
  let place = Number(list && attribute(list, 'start')) || 1;
  for (let node = list && firstChild(list); node && node !== item; node = nextSibling(node)) {
    if (nodeType(node) === ELEMENT && tagOf(node) === 'li') place++;
  }
  return place;
}
