// Scrolling, of the page or of the box inside it that scrolls.

const moveBoxBy = method(Element, 'scrollBy');
const moveBoxTo = method(Element, 'scrollTo');

const scrollLeftOf = getter(Element, 'scrollLeft');
const scrollTopOf = getter(Element, 'scrollTop');
const scrollWidthOf = getter(Element, 'scrollWidth');
const scrollHeightOf = getter(Element, 'scrollHeight');
const clientWidthOf = getter(Element, 'clientWidth');
const clientHeightOf = getter(Element, 'clientHeight');

function scrollPage({ ref, direction, amount, x, y, to }) {
  if (ref === undefined || ref === null) return scrollIn(mainScroller(), { direction, amount, x, y, to });
  return withElement(ref, (element) => {
    if (direction || to || x !== undefined || y !== undefined) return scrollIn(scrollerOf(element), { direction, amount, x, y, to });
    scrollIntoView(element, CENTER);
    return whereIs(scrollerOf(element), true);
  });
}

function scrollIn(box, { direction, amount, x, y, to }) {
  const before = { x: scrollLeftOf(box), y: scrollTopOf(box) };
  const instant = (left, top) => ({ left, top, behavior: 'instant' });
  if (to === 'top') moveBoxTo(box, instant(scrollLeftOf(box), 0));
  else if (to === 'bottom') moveBoxTo(box, instant(scrollLeftOf(box), scrollHeightOf(box)));
  else if (direction) {
    const vertical = direction === 'up' || direction === 'down';
    const size = Number(amount) > 0 ? Number(amount) : 0.85 * (vertical ? clientHeightOf(box) : clientWidthOf(box));
    const sign = direction === 'up' || direction === 'left' ? -1 : 1;
    moveBoxBy(box, vertical ? instant(0, sign * size) : instant(sign * size, 0));
  } else moveBoxTo(box, instant(Number(x ?? scrollLeftOf(box)), Number(y ?? scrollTopOf(box))));
  return whereIs(box, before.x !== scrollLeftOf(box) || before.y !== scrollTopOf(box));
}

function whereIs(box, moved) {
  return {
    x: round(scrollLeftOf(box)), y: round(scrollTopOf(box)),
    maxX: Math.max(0, scrollWidthOf(box) - clientWidthOf(box)), maxY: Math.max(0, scrollHeightOf(box) - clientHeightOf(box)),
    moved, box: isPage(box) ? 'page' : selectorOf(box),
  };
}

const pageScroller = () => scrollingElement(document) ?? pageElement(document);

const isPage = (box) => box === pageScroller();

function canScroll(element) {
  const { overflowX, overflowY } = getComputedStyle(element);
  const scrolls = (overflow) => overflow === 'auto' || overflow === 'scroll' || overflow === 'overlay';
  return (scrolls(overflowY) && scrollHeightOf(element) > clientHeightOf(element) + 1)
    || (scrolls(overflowX) && scrollWidthOf(element) > clientWidthOf(element) + 1);
}

function scrollerOf(element) {
  for (let node = element, left = 500; node && left > 0; node = composedParent(node), left--) {
    if (node !== bodyOf(document) && node !== pageElement(document) && canScroll(node)) return node;
  }
  return pageScroller();
}

/** The page; if that stands still, as in many applications, the box in the middle of it that scrolls. */
function mainScroller() {
  const page = pageScroller();
  if (scrollHeightOf(page) > clientHeightOf(page) + 1 || scrollWidthOf(page) > clientWidthOf(page) + 1) return page;
  const middle = elementAt(innerWidth / 2, innerHeight / 2);
  return middle ? scrollerOf(middle) : page;
}
