// @ts-check
// script.evaluate and script.callFunction in one frame.
(() => {
  const parts = /** @type {any} */ (globalThis).bowlineParts;
  if (!parts) return;
  const { run, runInPage, callInPage, settledInPage, waived } = parts.worlds;
  const { read, serialize, tagOf } = parts.values;
  const { describe } = parts.errors;

  /** @param {any} params */
  async function evaluate({ expression, sandbox, ...how }) {
    const inPage = sandbox === undefined;
    return outcome(inPage, how, () => (inPage ? runInPage(expression) : { value: run(expression) }));
  }

  /** @param {any} params */
  async function callFunction({ functionDeclaration, arguments: locals = [], this: self, sandbox, ...how }) {
    const inPage = sandbox === undefined;
    // What is wrong with these is the caller's mistake, not an exception of the script.
    const values = locals.map((/** @type {any} */ local) => read(local, inPage));
    const own = self === undefined ? undefined : read(self, inPage);
    return outcome(inPage, how, () => (inPage
      ? callInPage(functionDeclaration, own, values)
      : { value: run(`(${functionDeclaration}\n)`).apply(own, values) }));
  }

  /** @param {boolean} inPage @param {any} how @param {() => {value: any} | Promise<{value: any}>} work */
  async function outcome(inPage, { awaitPromise, serializationOptions, resultOwnership }, work) {
    const owned = resultOwnership === 'root';
    try {
      let { value } = await work();
      if (awaitPromise && tagOf(value) === 'Promise') value = inPage ? (await settledInPage(value)).value : await value;
      return { type: 'success', result: serialize(value, serializationOptions, owned) };
    } catch (error) {
      const thrown = Object.hasOwn(Object(error), 'thrown') ? /** @type {any} */ (error).thrown : inPage ? waived(error) : error;
      return { type: 'exception', exceptionDetails: describe(thrown, serializationOptions, owned) };
    }
  }

  parts.script = { evaluate, callFunction };
})();
