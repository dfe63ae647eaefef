// @ts-check
// The two worlds of a frame: the sandbox that extensions have beside a page, and the page's own. A page's own objects are
// reached as the page sees them (Firefox calls it waiving), and nodes are one and the same in both.
(() => {
  const own = /** @type {any} */ (globalThis);
  // A second time in the same document: the first one is at work.
  if (own.bowlineIsHere) return;
  const parts = own.bowlineParts = /** @type {any} */ ({});
  const { XPCNativeWrapper, exportFunction } = /** @type {any} */ (globalThis);
  // The hub sends code: this is what it is run with, here. A page's policy for scripts is not asked in this world, and is kept in the page's.
  const { eval: run, Function: Compiler } = globalThis;
  /** The page's window, as the page sees it. @type {any} */
  const page = /** @type {any} */ (window).wrappedJSObject;

  /** For a page's own script element to run: it waits for no network. */
  const SCRIPT_PATIENCE = 5_000;

  /** Whether the page lets itself be spoken to in `eval`: the background knows it from the headers. Asking it would be reported to the site. */
  let allowed = false;

  const mayEval = () => allowed && !document.querySelector('meta[http-equiv="content-security-policy" i]');

  /** Pages without TLS have no `randomUUID`. */
  const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

  const isObject = (/** @type {unknown} */ value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
  /** As the page sees it. @param {any} value */
  const waived = (value) => (isObject(value) ? XPCNativeWrapper.unwrap(value) : value);
  /** As it is, whatever the page has done to it. @param {any} value */
  const plain = (value) => (isObject(value) ? XPCNativeWrapper(value) : value);

  /** @param {string} code */
  function parses(code) {
    try {
      Compiler(code);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * A script as the body of a function that returns what the script's last statement would give: the longest beginning
   * that can stand by itself is followed by an expression.
   * @param {string} source
   */
  function asBody(source) {
    if (parses(`return (${source}\n)`)) return `return (${source}\n)`;
    const text = source.replace(/[\s;]+$/, '');
    for (let at = text.length - 1, tries = 0; at > 0 && tries < 500; at--) {
      if (!/[;\n}]/.test(text[at])) continue;
      tries++;
      const body = `${text.slice(0, at + 1)}\nreturn (${text.slice(at + 1)}\n)`;
      if (text.slice(at + 1).trim() !== '' && parses(body)) return body;
    }
    return source;
  }

  /**
   * A function of the page's world with this body. Where the page's policy forbids `eval`, it is loaded as a script of ours,
   * which the policy leaves alone: a script element stands in the document until it runs.
   * @param {string} body
   * @returns {Promise<any>}
   */
  async function compile(body) {
    if (mayEval()) return page.eval(`(function () {${body}\n})`);
    // Mistakes are found here: in the page they would be errors that the page hears of.
    Compiler(body);
    const name = `b${newId()}`;
    const script = /** @type {HTMLScriptElement} */ (document.createElementNS('http://www.w3.org/1999/xhtml', 'script'));
    try {
      return await new Promise((resolve, reject) => {
        const late = () => reject(new Error('the page runs no scripts'));
        setTimeout(late, SCRIPT_PATIENCE);
        script.onerror = late;
        Object.defineProperty(page, name, {
          value: exportFunction((/** @type {any} */ made) => { script.remove(); resolve(waived(made)); }, window),
          configurable: true,
        });
        script.src = `data:text/javascript;charset=utf-8,${encodeURIComponent(`window.${name}(function () {${body}\n})`)}`;
        const root = document.documentElement;
        if (root) root.append(script);
        else late();
      });
    } finally {
      script.remove();
      delete page[name];
    }
  }

  /**
   * What a script gives, in the page's world. In an object: it may be a promise of the page, which no `await` of ours can take.
   * @param {string} source
   */
  async function runInPage(source) {
    if (mayEval()) return { value: page.eval(source) };
    return { value: (await compile(asBody(source)))() };
  }

  /** The same of a function that is called. @param {string} declaration @param {any} self @param {any[]} values */
  async function callInPage(declaration, self, values) {
    const made = await compile(`return (${declaration}\n)`);
    return { value: Reflect.apply(made(), self, values) };
  }

  /** @param {any} promise of the page @returns {Promise<any>} */
  function settledInPage(promise) {
    return new Promise((resolve, reject) => {
      promise.then(
        exportFunction((/** @type {any} */ value) => resolve({ value: waived(value) }), window),
        exportFunction((/** @type {any} */ reason) => reject({ thrown: waived(reason) }), window),
      );
    });
  }

  parts.worlds = {
    page,
    newId,
    isObject,
    waived,
    plain,
    run,
    runInPage,
    callInPage,
    settledInPage,
    /** @param {boolean} may */
    allowEval: (may) => { allowed = may; },
  };
})();
