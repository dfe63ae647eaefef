// What the hub can call: every function takes one object and gives one, or a promise of it.
// The files share one scope and are put together in this order (order.json says the same to Rust and to the tests):
// dom, refs, visible, roles, names, states, lines, snapshot, locator, css, locate, describe, ready, frame, arm, drag, fill, select,
// scroll, storage, markdown, text, html, forms, questions, elements, overlay, pick, watch, api.

const FUNCTIONS = {
  snapshot: takeSnapshot, find: findElements, similar: findSimilar, describe: describeRef, at: describePoint, info: pageInfo,
  ready: lookReady, hits: pointHits, inner: innerPoint, arm: armElement, verdict: takeVerdict,
  watchDrag, takeDrag, dropDrag, endDrag,
  focus: focusRef, isFocused: isFocusedRef, selectText: selectTextOf, setValue: setValueOf, clear: clearRef, fileInput,
  select: selectOptions, options: listOptions, state: checkState, scroll: scrollPage, storage: useStorage,
  text: readText, html: pageHtml, forms: listForms, structure: pageStructure, elements: listElements,
  search: searchText, has: hasText,
  annotate: annotatePage, unannotate: unannotatePage, highlight: highlightRef, pick: pickElement, unpick,
  watch: watchPage, changes: takeChanges,
};

/** Each call looks at the page afresh, and keeps nothing of it afterwards but refs. */
function callable(work) {
  return (args) => {
    forget();
    try {
      const answer = work(args ?? {});
      if (!(answer instanceof Promise)) return answer;
      return answer.catch(unexpected).finally(forget);
    } catch (error) {
      return unexpected(error);
    } finally {
      forget();
    }
  };
}

const unexpected = (error) => failure('internal', String(error?.stack ?? error).slice(0, 1_000));

const api = {
  ...Object.fromEntries(Object.entries(FUNCTIONS).map(([name, work]) => [name, callable(work)])),

  /** The ref of an element that the hub holds itself, as that of an iframe in its parent. */
  refOf(element, next) {
    reserve(next);
    return { ref: refOf(element), next: nextRef };
  },

  /** The elements that are frames, for a hub that is told which frame each of them is. */
  frameElements: () => queryDeep(document, 'iframe,frame'),

  /** The element of a ref, for what only the protocol can do with it; null when it is gone. */
  node: (ref) => elementOf(ref),
};
