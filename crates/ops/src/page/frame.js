// Frames of a page as their parent sees them.

/** A point of a frame as a point of this one, and whether the frame's element can be hit there. */
function innerPoint({ ref, x, y }) {
  return withElement(ref, (element) => {
    const rect = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    const inset = (side) => parseFloat(style[`padding${side}`]) || 0;
    // A frame that is scaled is larger or smaller outside than inside.
    const scale = { x: rect.width / (element.offsetWidth || rect.width || 1), y: rect.height / (element.offsetHeight || rect.height || 1) };
    const at = {
      x: rect.x + (element.clientLeft + inset('Left') + Number(x)) * scale.x,
      y: rect.y + (element.clientTop + inset('Top') + Number(y)) * scale.y,
    };
    return { ...at, ...pointHits({ ref, ...at }) };
  });
}
