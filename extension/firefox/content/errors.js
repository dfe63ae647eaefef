// @ts-check
// Errors as WebDriver BiDi tells them, with the places that they went through and without ours.
(() => {
  const own = /** @type {any} */ (globalThis);
  if (own.bowlineIsHere) return;
  const parts = own.bowlineParts;
  const { plain } = parts.worlds;
  const { serialize, tagOf } = parts.values;

  /** @param {any} error @param {any} options @param {boolean} owned */
  function describe(error, options, owned) {
    let text;
    /** @type {any[]} */
    let callFrames = [];
    try {
      const isError = tagOf(error) === 'Error' || tagOf(error) === 'DOMException';
      text = isError ? `${error.name}: ${error.message}` : String(error);
      callFrames = isError ? framesOf(String(plain(error).stack ?? error.stack ?? '')) : [];
    } catch {
      text = 'the script threw';
    }
    const at = callFrames[0] ?? { lineNumber: 0, columnNumber: 0 };
    return { text, lineNumber: at.lineNumber, columnNumber: at.columnNumber, stackTrace: { callFrames }, exception: serialize(error, options, owned) };
  }

  /** A stack as Firefox writes it: `name@address:line:column`. @param {string} stack */
  function framesOf(stack) {
    const frames = [];
    for (const line of stack.split('\n')) {
      const found = /^(.*?)@(.*):(\d+):(\d+)$/.exec(line);
      // What lies below is ours.
      if (!found || found[2].startsWith('moz-extension:')) continue;
      // What the hub has run has no address of its own.
      const url = /^eval$|^data:text\/javascript/.test(found[2]) ? window.location.href : found[2];
      frames.push({ functionName: found[1], url, lineNumber: Number(found[3]) - 1, columnNumber: Number(found[4]) - 1 });
    }
    return frames;
  }

  parts.errors = { describe, framesOf };
})();
