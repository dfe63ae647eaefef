// Whether an element can be acted on now, and at which point. One look: who wants to wait asks again.

/** What each action needs besides an element that is there; any other action is treated as a click. */
const NEEDS = {
  click: { enabled: true, stable: true, hit: true },
  hover: { stable: true, hit: true },
  drag: { stable: true, hit: true },
  drop: { stable: true, hit: true },
  fill: { enabled: true, editable: true },
  type: { enabled: true, editable: true },
  select: { enabled: true },
  screenshot: { stable: true },
  scroll: { stable: true },
};

const notReady = (reason, message, more) => ({ ok: false, reason, message, ...more });

async function lookReady({ ref, action = 'click', position, next }) {
  reserve(next);
  let element = elementOf(ref);
  if (!element) return stale(ref);
  const needs = NEEDS[action] ?? NEEDS.click;
  let via;
  if (needs.editable) element = fieldFor(element);
  else if (action === 'select') element = controlOf(element);
  if (tagOf(element) === 'option' && needs.hit && rectsOf(element).length === 0) {
    return notReady('not_visible', `${inWords(element)} is an option of a closed list; select it instead.`);
  }
  if (!isVisible(element)) {
    // Switches and upload buttons are often a hidden input behind a label that is drawn.
    const label = needs.hit && LABELLED_TAGS.has(tagOf(element)) ? labelsOf(element).find(isVisible) : undefined;
    if (!label) return notReady('not_visible', whyUnseen(element));
    if (isDisabled(element)) return notReady('not_enabled', `${inWords(element)} is disabled.`);
    element = label;
    via = 'label';
  }
  if (needs.enabled && isDisabled(element)) return notReady('not_enabled', `${inWords(element)} is disabled.`);
  if (needs.editable && !editableState(element)) {
    const why = editableState(element) === false ? 'is read-only' : 'is not a field that text can be put into';
    return notReady('not_editable', `${inWords(element)} ${why}.`);
  }
  if (needs.stable && !(await isStable(element))) {
    if (!isConnected(element)) return stale(ref);
    return notReady('not_stable', `${inWords(element)} is moving.`);
  }
  forget();
  const place = needs.hit ? placeToHit(element, position) : placeInView(element, position);
  if (!place.ok) return { ...place, next: nextRef };
  const type = tagOf(element) === 'input' ? element.type : '';
  return { ok: true, x: round(place.x), y: round(place.y), rect: toRect(boxOf(element)), tag: tagOf(element), type, ...(via && { via }), next: nextRef };
}

function whyUnseen(element) {
  const what = inWords(element);
  const bits = look(element);
  if (bits & UNSEEN) return `${what} is hidden (visibility).`;
  if (bits & NO_BOX || !checkVisibility(element)) return `${what} is not drawn (display: none or inside of something that is not drawn).`;
  return `${what} has no size.`;
}

/** The same box in two frames one after the other. Frames stand still in background tabs: a timer goes on without them. */
async function isStable(element) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(true), 50);
  });
  const frame = () => Promise.race([new Promise((resolve) => requestAnimationFrame(() => resolve(false))), late]);
  let before = boxOf(element);
  let same = false;
  for (let i = 0; i < 2; i++) {
    const isLate = await frame();
    const now = boxOf(element);
    same = now.x === before.x && now.y === before.y && now.width === before.width && now.height === before.height;
    before = now;
    if (isLate) break;
  }
  clearTimeout(timer);
  return same && isConnected(element);
}

const CENTER = { block: 'center', inline: 'center', behavior: 'instant' };
const scrollIntoView = method(Element, 'scrollIntoView');

function placeInView(element, position) {
  let point = pointsOf(element, position)[0];
  if (!point) {
    scrollIntoView(element, CENTER);
    point = pointsOf(element, position)[0];
  }
  return point ? { ok: true, ...point } : outside(element);
}

const outside = (element) => notReady('outside', `${inWords(element)} cannot be scrolled into the viewport.`);

/** A point at which a click would reach the element, scrolling only if there is none where it stands. */
function placeToHit(element, position) {
  let covered = null;
  for (const block of [null, 'center', 'end', 'start']) {
    if (block) {
      const before = boxOf(element);
      scrollIntoView(element, { ...CENTER, block });
      const after = boxOf(element);
      if (covered && before.x === after.x && before.y === after.y && block !== 'center') continue;
    }
    const points = pointsOf(element, position);
    for (const point of points) {
      const hit = elementAt(point.x, point.y);
      if (hit && meets(element, hit)) return { ok: true, ...point };
      if (hit) covered = hit;
    }
    // Under something as large as a dialog's backdrop no other place will do.
    if (covered && block && isLarge(covered)) break;
  }
  if (!covered) return outside(element);
  const by = topOfCover(element, covered);
  return notReady('covered', `${inWords(element)} is covered by ${inWords(by)}.`, { by: inWords(by), byRef: refOf(by) });
}

function isLarge(element) {
  const { width, height } = boxOf(element);
  return width * height > 0.6 * innerWidth * innerHeight;
}

/** Of what covers, the outermost that does not hold the element itself: the dialog and not its paragraph. */
function topOfCover(element, hit) {
  let top = hit;
  for (let outer = composedParent(hit); outer && !composedContains(outer, element); outer = composedParent(outer)) top = outer;
  return top;
}

/** Whether an event at `hit` is one of `element`: inside it, in the button around it, or in its label. */
function meets(element, hit) {
  if (composedContains(element, hit)) return true;
  const around = closest(element, CLICKABLE_AROUND);
  if (around && composedContains(around, hit)) return true;
  if (LABELLED_TAGS.has(tagOf(element)) && labelsOf(element).some((label) => composedContains(label, hit))) return true;
  return tagOf(element) === 'label' && element.control === hit;
}

/** Points inside what is drawn of the element in the viewport: the middle of each line first, then off the middle. */
function pointsOf(element, position) {
  if (position) {
    const { x, y } = boxOf(element);
    const point = { x: x + Number(position.x), y: y + Number(position.y) };
    return point.x >= 0 && point.y >= 0 && point.x < innerWidth && point.y < innerHeight ? [point] : [];
  }
  const boxes = [];
  for (const rect of Array.from(rectsOf(element)).slice(0, 20)) {
    const left = Math.max(0, rect.left);
    const top = Math.max(0, rect.top);
    const right = Math.min(innerWidth, rect.right);
    const bottom = Math.min(innerHeight, rect.bottom);
    // Half hidden at the edge of the viewport, a scroll is better than a click at the last pixel.
    const whole = Math.min(rect.width, innerWidth) * Math.min(rect.height, innerHeight);
    if (right > left && bottom > top && (right - left) * (bottom - top) >= whole / 2) boxes.push({ left, top, width: right - left, height: bottom - top });
  }
  if (boxes.length === 0 && look(element) & CONTENTS) return pointsOfChildren(element);
  const at = (part) => ({ left, top, width, height }) => ({ x: left + width * part, y: top + height * part });
  return [...boxes.map(at(0.5)), ...boxes.slice(0, 2).map(at(0.25)), ...boxes.slice(0, 2).map(at(0.75))];
}

/** Without a box of its own, an element is where its children are. */
function pointsOfChildren(element) {
  const points = [];
  eachChild(element, (child) => {
    if (points.length === 0 && isElement(child)) points.push(...pointsOf(child));
  });
  return points;
}

/** Whether a point of this frame is at the element; asked of the frames' elements in parents. */
function pointHits({ ref, x, y }) {
  return withElement(ref, (element) => {
    const hit = elementAt(Number(x), Number(y));
    if (hit && meets(element, hit)) return { hits: true };
    const by = hit && topOfCover(element, hit);
    return { hits: false, by: by ? inWords(by) : 'nothing' };
  });
}
