// @ts-check
// Bodies of requests and answers, kept while somebody collects them. What passes is copied, and goes on unchanged.
import { firefox, invalid, Refusal } from './api.js';
import { topOf } from './names.js';

/** Of all that is kept; the oldest go. */
const MOST_BYTES = 64 * 1024 * 1024;

/** @typedef {{types: Set<string>, most: number, contexts: Set<string> | undefined}} Collector */
/** @typedef {{chunks: Uint8Array[], size: number, seen: number, collectors: Set<string>, done: Promise<void>, tooLarge: boolean}} Body */

/** @type {Map<string, Collector>} */
const collectors = new Map();
/** By `type request`, the oldest first. @type {Map<string, Body>} */
const bodies = new Map();
let total = 0;

let changed = () => {};
/** @param {() => void} listener */
export function onChange(listener) {
  changed = listener;
}

/** @param {string} type @param {string} top */
const collecting = (type, top) => [...collectors].filter(([, { types, contexts }]) => types.has(type) && (!contexts || contexts.has(top)));

/** @param {string} top */
export const wants = (top) => collecting('response', top).length > 0;
export const wantsAny = () => collectors.size > 0;

export function end() {
  collectors.clear();
  bodies.clear();
  total = 0;
}

/** @param {string} name */
function remove(name) {
  total -= bodies.get(name)?.size ?? 0;
  bodies.delete(name);
}

/** @param {string} type @param {string} requestId @param {string} top @param {Promise<void>} done */
function begin(type, requestId, top, done) {
  const found = collecting(type, top);
  /** @type {Body} */
  const body = { chunks: [], size: 0, seen: 0, collectors: new Set(found.map(([id]) => id)), done, tooLarge: false };
  const most = Math.max(0, ...found.map(([, collector]) => collector.most));
  remove(`${type} ${requestId}`);
  bodies.set(`${type} ${requestId}`, body);
  return (/** @type {ArrayBuffer} */ data) => {
    body.seen += data.byteLength;
    if (body.tooLarge) return;
    if (body.size + data.byteLength > most) {
      body.tooLarge = true;
      body.chunks = [];
      total -= body.size;
      body.size = 0;
      return;
    }
    body.chunks.push(new Uint8Array(data.slice(0)));
    body.size += data.byteLength;
    total += data.byteLength;
    for (const name of bodies.keys()) {
      if (total <= MOST_BYTES) break;
      remove(name);
    }
  };
}

/** The answer to a request. @param {string} requestId @param {string} top */
export function keep(requestId, top) {
  const filter = firefox.webRequest.filterResponseData(requestId);
  /** @type {() => void} */
  let finish = () => {};
  const add = begin('response', requestId, top, new Promise((resolve) => { finish = () => resolve(); }));
  filter.ondata = (/** @type {{data: ArrayBuffer}} */ { data }) => {
    filter.write(data);
    add(data);
  };
  filter.onstop = () => {
    filter.close();
    finish();
  };
  filter.onerror = finish;
}

/** The end of an answer that passes by here; Firefox may tell of it before. @param {string} requestId */
export const endOf = (requestId) => bodies.get(`response ${requestId}`)?.done;

/** How much of an answer has passed, kept or not. @param {string} requestId */
export const sizeOf = (requestId) => bodies.get(`response ${requestId}`)?.seen ?? 0;

/** @param {string} requestId @param {string} top @param {any} body */
export function keepRequest(requestId, top, body) {
  if (!body || collecting('request', top).length === 0) return;
  const add = begin('request', requestId, top, Promise.resolve());
  if (body.formData) add(new TextEncoder().encode(new URLSearchParams(Object.entries(body.formData).flatMap(([name, values]) => /** @type {any[]} */ (values).map((value) => [name, value]))).toString()).buffer);
  for (const { bytes } of body.raw ?? []) if (bytes) add(bytes);
}

/** @param {Body} body */
async function bytesOf({ chunks }) {
  const whole = new Uint8Array(await new Blob(/** @type {any} */ (chunks)).arrayBuffer());
  try {
    return { type: 'string', value: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(whole) };
  } catch {
    let text = '';
    for (let at = 0; at < whole.length; at += 0x8000) text += String.fromCharCode(...whole.subarray(at, at + 0x8000));
    return { type: 'base64', value: btoa(text) };
  }
}

/** @param {any} params */
function find({ dataType, request, collector }) {
  if (collector !== undefined && !collectors.has(collector)) throw new Refusal('no such network collector', `There is no collector ${collector}.`);
  const body = bodies.get(`${dataType} ${request}`);
  if (!body || (collector !== undefined && !body.collectors.has(collector))) throw new Refusal('no such network data', `There is no ${dataType} body of the request ${request}.`);
  return body;
}

/** @type {Record<string, (params: any) => Promise<object | void>>} */
export const COMMANDS = {
  async 'network.addDataCollector'({ dataTypes, maxEncodedDataSize, contexts }) {
    if (!Array.isArray(dataTypes) || dataTypes.length === 0 || !(maxEncodedDataSize > 0)) throw invalid('A collector is to have dataTypes and a maxEncodedDataSize.');
    const id = crypto.randomUUID();
    collectors.set(id, { types: new Set(dataTypes), most: maxEncodedDataSize, contexts: contexts?.length > 0 ? new Set(contexts.map(topOf)) : undefined });
    changed();
    return { collector: id };
  },

  async 'network.removeDataCollector'({ collector }) {
    if (!collectors.delete(collector)) throw new Refusal('no such network collector', `There is no collector ${collector}.`);
    for (const [name, body] of [...bodies]) if (body.collectors.delete(collector) && body.collectors.size === 0) remove(name);
    changed();
  },

  async 'network.getData'(params) {
    const body = find(params);
    await body.done;
    if (body.tooLarge) throw new Refusal('unavailable network data', 'The body is larger than any collector takes.');
    const bytes = await bytesOf(body);
    if (params.disown && params.collector !== undefined) await COMMANDS['network.disownData'](params);
    return { bytes };
  },

  async 'network.disownData'(params) {
    const body = find(params);
    body.collectors.delete(params.collector);
    if (body.collectors.size === 0) remove(`${params.dataType} ${params.request}`);
  },
};
