// @ts-check
// The keyboard, made of events, and by hand what a key does: text, the caret, the focus, forms.
(() => {
  const parts = /** @type {any} */ (globalThis).bowlineParts;
  if (!parts) return;
  const { focused, isEditable, isTextField, tabOrder } = parts.targets;

  /** WebDriver's characters for keys that type none: name, code, number. @type {Record<string, [string, string, number]>} */
  const KEYS = {
    '\ue003': ['Backspace', 'Backspace', 8], '\ue004': ['Tab', 'Tab', 9], '\ue005': ['Clear', '', 12], '\ue006': ['Enter', 'Enter', 13], '\ue007': ['Enter', 'Enter', 13],
    '\ue008': ['Shift', 'ShiftLeft', 16], '\ue009': ['Control', 'ControlLeft', 17], '\ue00a': ['Alt', 'AltLeft', 18], '\ue00b': ['Pause', 'Pause', 19], '\ue00c': ['Escape', 'Escape', 27],
    '\ue00d': [' ', 'Space', 32], '\ue00e': ['PageUp', 'PageUp', 33], '\ue00f': ['PageDown', 'PageDown', 34], '\ue010': ['End', 'End', 35], '\ue011': ['Home', 'Home', 36],
    '\ue012': ['ArrowLeft', 'ArrowLeft', 37], '\ue013': ['ArrowUp', 'ArrowUp', 38], '\ue014': ['ArrowRight', 'ArrowRight', 39], '\ue015': ['ArrowDown', 'ArrowDown', 40],
    '\ue016': ['Insert', 'Insert', 45], '\ue017': ['Delete', 'Delete', 46], '\ue03d': ['Meta', 'MetaLeft', 91],
    '\ue050': ['Shift', 'ShiftRight', 16], '\ue051': ['Control', 'ControlRight', 17], '\ue052': ['Alt', 'AltRight', 18], '\ue053': ['Meta', 'MetaRight', 91],
  };
  for (let number = 1; number <= 12; number++) KEYS[String.fromCharCode(0xe030 + number)] = [`F${number}`, `F${number}`, 111 + number];
  const CODES = Object.fromEntries([...'`Backquote -Minus =Equal [BracketLeft ]BracketRight \\Backslash ;Semicolon \'Quote ,Comma .Period /Slash'.split(' ')].map((word) => [word[0], word.slice(1)]));

  /** @param {string} value */
  function keyOf(value) {
    if (KEYS[value]) {
      const [key, code, number] = KEYS[value];
      return { key, code, number };
    }
    const upper = value.toUpperCase();
    if (/^[A-Z]$/.test(upper)) return { key: value, code: `Key${upper}`, number: upper.charCodeAt(0) };
    if (/^\d$/.test(value)) return { key: value, code: `Digit${value}`, number: value.charCodeAt(0) };
    if (value === ' ') return { key: ' ', code: 'Space', number: 32 };
    return { key: value, code: CODES[value] ?? '', number: 0 };
  }

  /** @type {Record<string, 'shift' | 'ctrl' | 'alt' | 'meta'>} */
  const MODIFIERS = { Shift: 'shift', Control: 'ctrl', Alt: 'alt', Meta: 'meta' };

  /** @param {any} target @param {string} name @param {any} key @param {any} act @param {number} [letter] */
  const fire = (target, name, key, act, letter = 0) => parts.trust.send(target, new KeyboardEvent(name, {
    view: window, bubbles: true, cancelable: true, composed: true, key: key.key, code: key.code, keyCode: letter || key.number, charCode: letter,
    ctrlKey: act.keys.ctrl, shiftKey: act.keys.shift, altKey: act.keys.alt, metaKey: act.keys.meta, repeat: act.repeat ?? false,
  }));

  /** @param {any} act */
  function down(act) {
    const key = keyOf(act.value);
    if (MODIFIERS[key.key]) act.keys[MODIFIERS[key.key]] = true;
    const goesOn = fire(focused(), 'keydown', key, act);
    if (!goesOn || MODIFIERS[key.key]) return;
    const types = key.key.length === 1 || [...key.key].length === 1;
    if ((types || key.key === 'Enter') && !act.keys.ctrl && !act.keys.meta && !fire(focused(), 'keypress', key, act, key.key === 'Enter' ? 13 : key.key.codePointAt(0))) return;
    // The event may have moved the focus.
    if (types) type(focused(), key.key, act);
    else ACTS[key.key]?.(focused(), act);
  }

  /** @param {any} act */
  function up(act) {
    const key = keyOf(act.value);
    if (MODIFIERS[key.key]) act.keys[MODIFIERS[key.key]] = false;
    const target = focused();
    const goesOn = fire(target, 'keyup', key, act);
    if (goesOn && key.key === ' ' && (target.localName === 'button' || target.localName === 'summary' || /^(checkbox|radio|button|submit|reset|file|color)$/.test(target.type))) target.click();
  }

  /** @param {any} target @param {string} text @param {any} act */
  function type(target, text, act) {
    if (act.keys.ctrl || act.keys.meta) return shortcut(target, text.toLowerCase(), act);
    if (isEditable(target)) return insert(target, text);
    if (text === ' ' && (target === document.body || target === document.documentElement)) return parts.pointer.scroll(target, 0, innerHeight * (act.keys.shift ? -0.9 : 0.9));
    if (target.localName === 'select') chooseByLetter(target, text);
    return undefined;
  }

  /** Types as a person does: Firefox itself makes the events of the text. @param {any} target @param {string} text */
  function insert(target, text) {
    if (isTextField(target) && /^(number|date|time|month|week|datetime-local)$/.test(target.type) && target.type !== 'number') return setValue(target, target.value + text);
    if (!document.execCommand('insertText', false, text) && isTextField(target)) setValue(target, target.value + text);
    return undefined;
  }

  /** @param {any} field @param {string} value */
  function setValue(field, value) {
    field.value = value;
    field.dispatchEvent(new InputEvent('input', { bubbles: true, composed: true, inputType: 'insertText' }));
  }

  /** @param {any} target @param {string} letter @param {any} act */
  function shortcut(target, letter, act) {
    const command = { a: 'selectAll', c: 'copy', x: 'cut', v: 'paste', z: act.keys.shift ? 'redo' : 'undo', y: 'redo' }[letter];
    if (!command) return;
    if (command === 'selectAll' && isTextField(target)) target.select();
    else document.execCommand(command);
  }

  /** @param {any} select @param {string} letter */
  function chooseByLetter(select, letter) {
    const options = [...select.options];
    const from = select.selectedIndex + 1;
    const found = [...options.slice(from), ...options.slice(0, from)].find((/** @type {any} */ option) => option.label.toLowerCase().startsWith(letter.toLowerCase()) && !option.disabled);
    if (found) choose(select, found.index);
  }

  /** @param {any} select @param {number} index */
  function choose(select, index) {
    if (index < 0 || index >= select.options.length || index === select.selectedIndex) return;
    select.selectedIndex = index;
    select.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    select.dispatchEvent(new Event('change', { bubbles: true }));
  }

  /** @type {Record<string, (target: any, act: any) => void>} */
  const ACTS = {
    Enter(target) {
      if (target.localName === 'textarea') insert(target, '\n');
      else if (target.isContentEditable) document.execCommand('insertParagraph');
      else if (/^(a|area|button|summary)$/.test(target.localName) || /^(button|submit|reset|image|file|color)$/.test(target.type)) target.click();
      else if (target.localName === 'input') submit(target);
    },
    Tab(target, act) {
      const stops = tabOrder();
      const at = stops.indexOf(target);
      const step = act.keys.shift ? -1 : 1;
      const next = at < 0 ? (step > 0 ? 0 : stops.length - 1) : (at + step + stops.length) % stops.length;
      const wanted = stops[next];
      wanted?.focus();
      if (isTextField(wanted)) wanted.select?.();
    },
    Backspace: (target) => { if (isEditable(target)) document.execCommand('delete'); },
    Delete: (target) => { if (isEditable(target)) document.execCommand('forwardDelete'); },
    Escape() {
      const dialog = [...document.querySelectorAll('dialog:modal')].pop();
      if (dialog?.dispatchEvent(new Event('cancel', { cancelable: true }))) /** @type {HTMLDialogElement} */ (dialog).close();
    },
    ArrowLeft: (target, act) => go(target, act, 'backward', 'character', -40, 0),
    ArrowRight: (target, act) => go(target, act, 'forward', 'character', 40, 0),
    ArrowUp: (target, act) => go(target, act, 'backward', 'line', 0, -40),
    ArrowDown: (target, act) => go(target, act, 'forward', 'line', 0, 40),
    Home: (target, act) => go(target, act, 'backward', 'lineboundary', 0, -1e7),
    End: (target, act) => go(target, act, 'forward', 'lineboundary', 0, 1e7),
    PageUp: (target) => parts.pointer.scroll(target, 0, -innerHeight * 0.9),
    PageDown: (target) => parts.pointer.scroll(target, 0, innerHeight * 0.9),
  };

  /** @param {any} target @param {any} act @param {string} way @param {string} by @param {number} dx @param {number} dy */
  function go(target, act, way, by, dx, dy) {
    const step = way === 'forward' ? 1 : -1;
    if (target.localName === 'select') return choose(target, by === 'lineboundary' ? (step > 0 ? target.options.length - 1 : 0) : target.selectedIndex + step);
    if (target.type === 'radio') return turn(target, step);
    if (/^(number|range)$/.test(target.type) && (by === 'line' || target.type === 'range')) return spin(target, by === 'line' ? -step : step);
    if (isTextField(target)) return caret(target, act, step, by);
    if (target.isContentEditable) {
      getSelection()?.modify(act.keys.shift ? 'extend' : 'move', way, act.keys.ctrl && by === 'character' ? 'word' : by);
      return undefined;
    }
    return parts.pointer.scroll(target, dx, dy);
  }

  /** @param {any} radio @param {number} step */
  function turn(radio, step) {
    const group = [...(radio.form ?? document).querySelectorAll('input[type=radio]')].filter((/** @type {any} */ one) => one.name === radio.name && !one.disabled);
    const next = group[(group.indexOf(radio) + step + group.length) % group.length];
    next?.focus();
    next?.click();
  }

  /** @param {any} field @param {number} step */
  function spin(field, step) {
    if (step > 0) field.stepUp();
    else field.stepDown();
    field.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    field.dispatchEvent(new Event('change', { bubbles: true }));
  }

  /** @param {any} field @param {any} act @param {number} step @param {string} by */
  function caret(field, act, step, by) {
    const { value, selectionStart: start, selectionEnd: end, selectionDirection: direction } = field;
    if (start === null) return;
    const anchor = direction === 'backward' ? end : start;
    let at = direction === 'backward' ? start : end;
    if (by === 'character') at = !act.keys.shift && start !== end ? (step > 0 ? end : start) : at + step;
    else if (field.localName === 'input') at = step > 0 ? value.length : 0;
    else at = lineStep(value, at, step, by);
    at = Math.max(0, Math.min(value.length, at));
    if (act.keys.shift) field.setSelectionRange(Math.min(anchor, at), Math.max(anchor, at), at < anchor ? 'backward' : 'forward');
    else field.setSelectionRange(at, at);
  }

  /** @param {string} text @param {number} at @param {number} step @param {string} by */
  function lineStep(text, at, step, by) {
    const begin = text.lastIndexOf('\n', at - 1) + 1;
    const close = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at);
    if (by === 'lineboundary') return step > 0 ? close : begin;
    if (step > 0) return close === text.length ? close : Math.min(close + 1 + at - begin, (text.indexOf('\n', close + 1) + 1 || text.length + 1) - 1);
    if (begin === 0) return 0;
    const above = text.lastIndexOf('\n', begin - 2) + 1;
    return Math.min(above + at - begin, begin - 1);
  }

  /** Enter in a field: the form's own button, or the form itself if it has but one field. @param {any} field */
  function submit(field) {
    const { form } = field;
    if (!form) return;
    const button = [...form.elements].find((/** @type {any} */ one) => one.type === 'submit' || one.type === 'image');
    if (button) {
      if (!button.disabled) button.click();
    } else if ([...form.elements].filter((/** @type {any} */ one) => isTextField(one) && one.localName === 'input').length === 1) {
      form.requestSubmit();
    }
  }

  parts.keyboard = { down, up };
})();
