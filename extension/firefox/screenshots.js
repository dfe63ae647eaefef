// @ts-check
// Pictures of pages, also of tabs that nobody looks at.
import { firefox, invalid, Refusal, unsupported } from './api.js';
import { living } from './contexts.js';
import { ask } from './links.js';

/** @type {Record<string, string>} */
const FORMATS = { 'image/png': 'png', 'image/jpeg': 'jpeg', 'image/webp': 'png' };

/** @type {Record<string, (params: any) => Promise<object | void>>} */
export const COMMANDS = {
  async 'browsingContext.captureScreenshot'({ context, origin = 'viewport', format = { type: 'image/png' }, clip }) {
    const { tabId, frameId } = living(context);
    if (frameId !== 0) throw unsupported('An extension takes pictures of whole tabs: give the tab’s context and a clip.');
    const kind = FORMATS[format.type];
    if (!kind) throw unsupported(`There are pictures as PNG, JPEG and WebP, and no ${format.type}.`);
    const page = await ask(tabId, 0, 'measure', {});
    const view = origin === 'document'
      ? { x: 0, y: 0, width: page.fullWidth, height: page.fullHeight }
      : { x: page.scrollX, y: page.scrollY, width: page.width, height: page.height };
    const rect = clip === undefined ? view : intersection(view, await rectOf(clip, view, tabId));
    const quality = kind === 'jpeg' && typeof format.quality === 'number' ? { quality: Math.round(format.quality * 100) } : {};
    const address = await firefox.tabs.captureTab(tabId, { format: kind, rect, ...quality });
    const data = address.slice(address.indexOf(',') + 1);
    return { data: format.type === 'image/webp' ? await asWebp(data, format.quality) : data };
  },
};

/** Firefox gives extensions PNG and JPEG; the rest is done here. @param {string} png @param {number | undefined} quality */
async function asWebp(png, quality) {
  const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  canvas.getContext('2d')?.drawImage(picture, 0, 0);
  const reader = new FileReader();
  reader.readAsDataURL(await canvas.convertToBlob({ type: 'image/webp', quality }));
  await new Promise((resolve) => { reader.onloadend = resolve; });
  return String(reader.result).split(',')[1] ?? '';
}

/** In the document's measure. @param {any} clip @param {any} view @param {number} tabId */
async function rectOf(clip, view, tabId) {
  if (clip.type === 'box') return { x: view.x + clip.x, y: view.y + clip.y, width: clip.width, height: clip.height };
  if (clip.type === 'element') return ask(tabId, 0, 'rectOf', { element: clip.element });
  throw invalid(`There is no clip of the type ${clip.type}.`);
}

/** @param {any} one @param {any} other */
function intersection(one, other) {
  const x = Math.max(one.x, other.x);
  const y = Math.max(one.y, other.y);
  const width = Math.min(one.x + one.width, other.x + other.width) - x;
  const height = Math.min(one.y + one.height, other.y + other.height) - y;
  if (!(width > 0 && height > 0)) throw new Refusal('unable to capture screen', 'What is asked for lies outside of the page.');
  return { x, y, width, height };
}
