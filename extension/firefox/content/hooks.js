// @ts-check
// What a page is hooked for while a hub has subscribed to it: its console and errors, and its dialogs. Each hook is put in when it
// is wanted and taken out when it no longer is; a page that nobody listens to has its own functions.
(() => {
  const own = /** @type {any} */ (globalThis);
  if (own.bowlineIsHere) return;
  const parts = own.bowlineParts;
  const { page, waived } = parts.worlds;
  const { serialize } = parts.values;
  const { framesOf } = parts.errors;
  const { exportFunction } = /** @type {any} */ (globalThis);
  const Request = XMLHttpRequest;

  /** Levels of BiDi by the console's methods. @type {Record<string, string>} */
  const LEVELS = {
    debug: 'debug', error: 'error', info: 'info', log: 'info', warn: 'warn', trace: 'debug', assert: 'error', table: 'info', dir: 'info', dirxml: 'info',
    group: 'info', groupCollapsed: 'info', groupEnd: 'info', count: 'info', countReset: 'info', time: 'info', timeLog: 'info', timeEnd: 'info',
  };
  const DEPTH = { maxObjectDepth: 3, maxDomDepth: 0 };

  /** @type {{log: boolean, prompts: string}} */
  let now = { log: false, prompts: '' };
  /** The page's own functions, by the objects and names that they were taken from. @type {{owner: any, name: string, value: any, ours: any}[]} */
  let taken = [];

  /** @param {any} owner @param {string} name @param {(own: any) => (...values: any[]) => any} make */
  function put(owner, name, make) {
    const value = owner[name];
    if (typeof value !== 'function') return;
    try {
      // It has the name and the looks of the one it stands for.
      const ours = waived(exportFunction(make(value), owner, { defineAs: name }));
      Object.defineProperty(ours, 'length', { value: value.length, configurable: true });
      taken.push({ owner, name, value, ours });
    } catch {
      // A page may have frozen it.
    }
  }

  /** @param {{log?: boolean, prompts?: string}} wanted */
  function set({ log = false, prompts = '' }) {
    if (log === now.log && prompts === now.prompts) return;
    now = { log, prompts };
    for (const { owner, name, value, ours } of taken) {
      // What the page has put over ours meanwhile stays.
      try {
        if (waived(owner[name]) === ours) owner[name] = value;
      } catch {
        // Frozen since.
      }
    }
    taken = [];
    if (log) for (const name of Object.keys(LEVELS)) put(page.console, name, (own) => (...values) => { said(name, values); return Reflect.apply(own, page.console, values); });
    window.removeEventListener('error', onError, true);
    window.removeEventListener('unhandledrejection', onRejection, true);
    if (log) {
      window.addEventListener('error', onError, true);
      window.addEventListener('unhandledrejection', onRejection, true);
    }
    if (prompts) {
      for (const type of /** @type {const} */ (['alert', 'confirm', 'prompt'])) put(page, type, (own) => (...values) => open(type, values, own));
    }
  }

  /** @param {string} method @param {any[]} values */
  function said(method, values) {
    try {
      if (method === 'assert') {
        if (values[0]) return;
        values = values.slice(1);
      }
      const found = counted(method, String(values[0] ?? 'default'));
      if (found === undefined) return;
      const args = values.map((value) => serialize(waived(value), DEPTH));
      const text = found || args.map((told, at) => wordOf(told, values[at])).join(' ');
      parts.tell('log', { type: 'console', method, level: LEVELS[method], text, args, timestamp: Date.now(), stackTrace: { callFrames: framesOf(String(new Error().stack)) } });
    } catch {
      // A value that cannot be told must not break the page.
    }
  }

  /** @type {Map<string, number>} */
  const counts = new Map();
  /** @type {Map<string, number>} */
  const clocks = new Map();

  /** What methods say by themselves; '' for the others, nothing where nothing is said. @param {string} method @param {string} label */
  function counted(method, label) {
    const passed = () => `${label}: ${Math.round(performance.now() - (clocks.get(label) ?? 0))}ms`;
    switch (method) {
      case 'count':
        counts.set(label, (counts.get(label) ?? 0) + 1);
        return `${label}: ${counts.get(label)}`;
      case 'countReset':
        return counts.delete(label) ? `${label}: 0` : undefined;
      case 'time':
        if (!clocks.has(label)) clocks.set(label, performance.now());
        return undefined;
      case 'timeLog':
        return clocks.has(label) ? passed() : undefined;
      case 'timeEnd': {
        const text = clocks.has(label) ? passed() : undefined;
        clocks.delete(label);
        return text;
      }
      default: return '';
    }
  }

  /** A value in the text of a line, as Firefox writes it. @param {any} told @param {any} value */
  function wordOf({ type, value: inner }, value) {
    switch (type) {
      case 'array': case 'object': case 'map': case 'set':
        return `${type[0].toUpperCase()}${type.slice(1)}(${inner?.length ?? 0})`;
      case 'error': return `${waived(value).name}: ${waived(value).message}`;
      case 'date': case 'regexp': return String(value);
      default: return inner === undefined || typeof inner === 'object' ? type : String(inner);
    }
  }

  /** @param {ErrorEvent} event */
  function onError(event) {
    // Resources that do not load come by here, too.
    if (!(event instanceof ErrorEvent)) return;
    tellError(event.error, event.message, { url: event.filename, lineNumber: Math.max(0, event.lineno - 1), columnNumber: Math.max(0, event.colno - 1), functionName: '' });
  }

  /** @param {PromiseRejectionEvent} event */
  function onRejection(event) {
    tellError(event.reason, `Uncaught (in promise) ${String(event.reason)}`, undefined);
  }

  /** @param {any} error @param {string} message @param {any} place */
  function tellError(error, message, place) {
    const { stackTrace, text } = parts.errors.describe(waived(error), DEPTH, false);
    const callFrames = stackTrace.callFrames.length > 0 || !place ? stackTrace.callFrames : [place];
    parts.tell('log', { type: 'javascript', level: 'error', text: error ? text : message, timestamp: Date.now(), stackTrace: { callFrames } });
  }

  /**
   * A dialog: the page waits, as it does for Firefox's own, until the hub has answered. It waits for a request that the background
   * holds back and answers itself; nothing leaves the machine. In a tab that no agent works in it is Firefox's own after all.
   * @param {'alert' | 'confirm' | 'prompt'} type @param {any[]} values @param {any} own
   */
  function open(type, values, own) {
    const [message = '', defaultValue = ''] = values;
    const asked = { key: parts.key, type, message: String(message), defaultValue: String(defaultValue) };
    let answer;
    // Told by the port, too, whose messages come in order: so it is known whether another one follows at once.
    parts.tell('waits', { isWaiting: true });
    try {
      const request = new Request();
      request.open('POST', now.prompts, false);
      request.send(JSON.stringify(asked));
      answer = JSON.parse(request.responseText);
    } catch {
      answer = { isOwn: true };
    }
    parts.tell('waits', { isWaiting: false });
    if (answer.isOwn) return Reflect.apply(own, page, values);
    if (type === 'alert') return undefined;
    return type === 'confirm' ? answer.accepted : answer.accepted ? answer.text : null;
  }

  parts.hooks = { set };
})();
