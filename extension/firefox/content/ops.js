// @ts-check
// What the background may ask of a frame. The last of the files that come with the first command: from here on the parts are
// known to each other alone, and the hub's scripts may come.
(() => {
  const own = /** @type {any} */ (globalThis);
  const parts = own.bowlineParts;
  if (!parts) return;
  delete own.bowlineParts;
  parts.trust.offer();

  /** @type {Record<string, (params: any) => any>} */
  parts.ops = {
    evaluate: parts.script.evaluate,
    callFunction: parts.script.callFunction,
    disown: ({ handles }) => parts.values.disown(handles),
    perform: parts.input.perform,
    act: parts.input.act,
    setFiles: parts.files.setFiles,
    rectOf: parts.files.rectOf,
    measure: parts.files.measure,
    travel: ({ delta }) => window.history.go(delta),
    leave: ({ url }) => { window.location.href = url; },
  };
})();
