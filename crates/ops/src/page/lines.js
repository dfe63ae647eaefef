// How a snapshot is written: the YAML that agents know from Playwright, one line per element.

/** A value as YAML takes it: quoted when it could be read as anything but text. */
function yamlValue(text) {
  return needsQuotes(text) ? JSON.stringify(text) : text;
}

function needsQuotes(text) {
  if (text === '' || text.trim() !== text) return true;
  if (/^[-?:,[\]{}#&*!|>'"%@`]/.test(text)) return true;
  // eslint-disable-next-line no-control-regex -- these are what YAML does not take
  if (/: |:$| #|[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]/.test(text)) return true;
  return /^(?:true|false|yes|no|on|off|null|y|n|~|[-+.]?\d[\d.,_:eE+-]*|0x[\da-f]+|\.inf|\.nan)$/i.test(text);
}

/** A key: a role, a quoted name and marks. Only a colon or a hash inside the name could end it too early. */
function yamlKey(text) {
  return text.includes(': ') || text.includes(' #') ? `'${text.replaceAll('\'', '\'\'')}'` : text;
}

/** The marks of an element's states, in the order agents know. */
function stateMarks(element, role, active) {
  let marks = '';
  const checked = CHECKABLE.has(role) ? checkedState(element) : null;
  if (checked) marks += checked === 'mixed' ? ' [checked=mixed]' : ' [checked]';
  if (MAY_BE_DISABLED.has(role) && isDisabled(element)) marks += ' [disabled]';
  if (expandedState(element) === true) marks += ' [expanded]';
  if (element === active) marks += ' [active]';
  if (role === 'heading') marks += ` [level=${levelOf(element)}]`;
  if (role === 'button') {
    const pressed = pressedState(element);
    if (pressed) marks += pressed === 'mixed' ? ' [pressed=mixed]' : ' [pressed]';
  }
  if (SELECTABLE.has(role) && selectedState(element)) marks += ' [selected]';
  return marks;
}

const MAY_BE_DISABLED = NAMES('button checkbox columnheader combobox grid gridcell group link listbox menu menubar menuitem '
  + 'menuitemcheckbox menuitemradio option radio radiogroup rowheader scrollbar searchbox slider spinbutton switch tab tablist '
  + 'textbox toolbar tree treegrid treeitem generic');

/** Writes the nodes of a tree below each other and gives refs on the way, so that they rise down the page. */
class LineWriter {
  lines = [];
  iframes = [];
  count = 0;

  constructor({ prefix = '', boxes = false, depth = Infinity }) {
    this.prefix = prefix;
    this.boxes = boxes;
    this.depth = depth;
    this.active = activeElement();
  }

  head(node) {
    const { element, role, name } = node;
    let text = role;
    if (name) text += ` ${JSON.stringify(name)}`;
    text += stateMarks(element, role, this.active);
    const ref = refOf(element);
    text += ` [ref=${this.prefix}e${ref}]`;
    if (node.pointer) text += ' [cursor=pointer]';
    if (this.boxes) {
      const { x, y, width, height } = boxOf(element);
      text += ` [box=${Math.round(x)},${Math.round(y)},${Math.round(width)},${Math.round(height)}]`;
    }
    if (role === 'iframe') this.iframes.push({ ref, line: this.lines.length });
    this.count++;
    return yamlKey(text);
  }

  write(node, level) {
    const indent = '  '.repeat(level);
    const head = `${indent}- ${this.head(node)}`;
    const { children, props } = node;
    if (props.length === 0 && children.length === 1 && typeof children[0] === 'string') {
      this.lines.push(`${head}: ${yamlValue(children[0])}`);
      return;
    }
    const deeper = level + 1 < this.depth;
    const inside = props.length > 0 || (deeper && children.length > 0) || node.role === 'iframe';
    this.lines.push(inside ? `${head}:` : head);
    for (const [key, value] of props) this.lines.push(`${indent}  - /${key}: ${yamlValue(value)}`);
    if (deeper) this.writeAll(children, level + 1);
  }

  writeAll(children, level) {
    const indent = '  '.repeat(level);
    for (const child of children) {
      if (typeof child === 'string') this.lines.push(`${indent}- text: ${yamlValue(child)}`);
      else this.write(child, level);
    }
  }
}
