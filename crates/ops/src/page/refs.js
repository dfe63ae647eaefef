// Refs: numbers that stand for elements. A number is never given twice in a page; the hub counts across frames and
// says which is free (`next`), and hears in the answer which is free then.

const elementsByRef = new Map();
const refsByElement = new WeakMap();
let nextRef = 1;
/** Above this many, entries of elements that are gone are thrown out. */
let sweepAt = 20_000;

function reserve(next) {
  if (Number.isSafeInteger(next) && next > nextRef) nextRef = next;
}

function refOf(element) {
  let ref = refsByElement.get(element);
  if (ref === undefined) {
    ref = nextRef++;
    refsByElement.set(element, ref);
    elementsByRef.set(ref, new WeakRef(element));
    if (elementsByRef.size > sweepAt) sweep();
  }
  return ref;
}

function sweep() {
  for (const [ref, weak] of elementsByRef) {
    if (!weak.deref()) elementsByRef.delete(ref);
  }
  sweepAt = Math.max(20_000, elementsByRef.size * 2);
}

/** The element of a ref as long as it is in the page. */
function elementOf(ref) {
  const element = elementsByRef.get(Number(ref))?.deref();
  return element && isConnected(element) ? element : null;
}

const stale = (ref) => failure('stale', `The element of ref ${ref} is no longer in the page.`, { ref });

/** Gives the element of a ref to `work`, or says that it is stale. */
function withElement(ref, work) {
  const element = elementOf(ref);
  return element ? work(element) : stale(ref);
}
