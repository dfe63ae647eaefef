// @ts-check
// What elements are given and measured: files for uploads, rectangles for pictures.
(() => {
  const parts = /** @type {any} */ (globalThis).bowlineParts;
  if (!parts) return;
  const { Refusal, nodeOf } = parts.values;

  /** @param {{element: {sharedId: string}, files: {name: string, type?: string, data: string}[]}} params */
  function setFiles({ element, files }) {
    const input = nodeOf(element.sharedId);
    if (!(input instanceof HTMLInputElement) || input.type !== 'file') throw new Refusal('unable to set file input', 'The element is no file input.');
    if (input.disabled) throw new Refusal('unable to set file input', 'The file input is disabled.');
    if (files.length > 1 && !input.multiple) throw new Refusal('unable to set file input', 'The file input takes one file.');
    const transfer = new DataTransfer();
    for (const { name, type = '', data } of files) {
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      transfer.items.add(new File([bytes], name, { type }));
    }
    input.files = transfer.files;
    input.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    input.dispatchEvent(new Event('change', { bubbles: true }));
  }

  /** An element's place in its document. @param {{element: {sharedId: string}}} params */
  function rectOf({ element }) {
    const { x, y, width, height } = nodeOf(element.sharedId).getBoundingClientRect();
    return { x: x + scrollX, y: y + scrollY, width, height };
  }

  function measure() {
    const root = document.documentElement;
    return {
      scrollX, scrollY, width: innerWidth, height: innerHeight,
      fullWidth: Math.max(root.scrollWidth, innerWidth), fullHeight: Math.max(root.scrollHeight, innerHeight),
    };
  }

  parts.files = { setFiles, rectOf, measure };
})();
