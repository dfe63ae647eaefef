// @ts-check
// What pages ask of the network, told while somebody hears it. Firefox is listened to only as long as there is a subscription, an
// intercept or a collector: without them requests do not pass by here.
import { canHold, firefox } from './api.js';
import { keep, keepRequest, COMMANDS as bodies, end as endBodies, endOf as endOfBody, sizeOf as sizeOfBody, wants as wantsBodies, wantsAny, onChange as onCollectors } from './bodies.js';
import { isAny, isDriven } from './driven.js';
import { hold, COMMANDS as intercepts, end as endIntercepts, hasAny as hasIntercepts, onChange as onIntercepts } from './intercepts.js';
import { contextOf } from './names.js';
import { navigationOf } from './navigation.js';
import { emit, hasSession, hears } from './session.js';

const EVENTS = ['network.beforeRequestSent', 'network.responseStarted', 'network.responseCompleted', 'network.fetchError'];

/** For the last of a body that is copied, after Firefox has told of its end. */
const END_PATIENCE = 1_000;

/** What is on its way, by Firefox's number of it. @type {Map<string, any>} */
const requests = new Map();
let listening = '';

/** The session, its subscriptions, intercepts or collectors have changed. */
export function update() {
  if (!hasSession()) {
    endIntercepts();
    endBodies();
  }
  const blocks = hasIntercepts() || wantsAny();
  const wanted = !isAny() ? '' : blocks ? 'blocking' : EVENTS.some((name) => hears(name)) ? 'listening' : '';
  if (wanted === listening || !canHold) return;
  for (const [name, listener] of Object.entries(LISTENERS)) firefox.webRequest[name].removeListener(listener);
  listening = wanted;
  if (!wanted) {
    requests.clear();
    return;
  }
  for (const [name, listener] of Object.entries(LISTENERS)) {
    const extra = (OPTIONS[name] ?? []).filter((option) => option !== 'blocking' || blocks);
    firefox.webRequest[name].addListener(listener, { urls: ['<all_urls>'] }, ...(OPTIONS[name] ? [extra] : []));
  }
}
onIntercepts(update);
onCollectors(update);

/** @type {Record<string, string[]>} */
const OPTIONS = {
  onBeforeRequest: ['requestBody'], onBeforeSendHeaders: ['requestHeaders', 'blocking'], onHeadersReceived: ['responseHeaders', 'blocking'],
  onResponseStarted: ['responseHeaders'], onBeforeRedirect: ['responseHeaders'], onCompleted: ['responseHeaders'],
};

/** @type {Record<string, (details: any) => any>} */
const LISTENERS = {
  onBeforeRequest(details) {
    const { requestId, tabId, frameId, url, method, type, timeStamp, requestBody } = details;
    // What the person does in other tabs does not pass by the hub.
    if (tabId < 0 || !isDriven(tabId)) return;
    const before = requests.get(requestId);
    requests.set(requestId, {
      context: contextOf(tabId, frameId), tabId, frameId, url, method, type, begun: timeStamp, redirects: before ? before.redirects : 0, bodySize: sizeOf(requestBody), headers: [], hasBegun: false,
      navigation: before?.navigation ?? (type === 'main_frame' || type === 'sub_frame' ? navigationOf(tabId, frameId) : null),
    });
    keepRequest(requestId, contextOf(tabId), requestBody);
  },

  onBeforeSendHeaders({ requestId, requestHeaders, timeStamp }) {
    const request = requests.get(requestId);
    if (!request) return undefined;
    request.headers = requestHeaders;
    request.sent = timeStamp;
    return hold('beforeRequestSent', requestId, request, (ids) => tell('network.beforeRequestSent', request, requestId, ids, { initiator: { type: initiatorOf(request) } }));
  },

  onHeadersReceived(details) {
    const { requestId, statusCode } = details;
    const request = requests.get(requestId);
    if (!request) return undefined;
    if (!(statusCode >= 300 && statusCode < 400) && wantsBodies(contextOf(request.tabId))) keep(requestId, contextOf(request.tabId));
    return hold('responseStarted', requestId, request, (ids) => {
      if (ids.length === 0) return;
      request.hasBegun = true;
      tell('network.responseStarted', request, requestId, ids, { response: responseOf(details) });
    });
  },

  onResponseStarted(details) {
    const request = requests.get(details.requestId);
    if (!request) return;
    request.answered = details.timeStamp;
    if (request.hasBegun) return;
    tell('network.responseStarted', request, details.requestId, [], { response: responseOf(details) });
  },

  onBeforeRedirect(details) {
    const request = requests.get(details.requestId);
    if (!request) return;
    const response = responseOf(details);
    for (const name of ['network.responseStarted', 'network.responseCompleted']) tell(name, request, details.requestId, [], { response });
    request.redirects++;
  },

  onCompleted(details) {
    const request = requests.get(details.requestId);
    if (!request) return;
    requests.delete(details.requestId);
    request.ended = details.timeStamp;
    const over = () => tell('network.responseCompleted', request, details.requestId, [], { response: responseOf(details) });
    const end = endOfBody(details.requestId);
    if (end) void Promise.race([end, new Promise((resolve) => setTimeout(resolve, END_PATIENCE))]).then(over);
    else over();
  },

  onErrorOccurred({ requestId, error }) {
    const request = requests.get(requestId);
    if (!request) return;
    requests.delete(requestId);
    tell('network.fetchError', request, requestId, [], { errorText: error });
  },
};

/** @param {string} name @param {any} request @param {string} id @param {string[]} blockedBy @param {object} more */
function tell(name, request, id, blockedBy, more) {
  const { context, type } = request;
  emit(name, context, () => ({
    context,
    isBlocked: blockedBy.length > 0,
    ...(blockedBy.length > 0 && { intercepts: blockedBy }),
    navigation: type === 'main_frame' || type === 'sub_frame' ? request.navigation : null,
    redirectCount: request.redirects,
    request: requestOf(request, id),
    timestamp: Date.now(),
    userContext: 'default',
    ...more,
  }));
}

/** @param {any} request @param {string} id */
function requestOf({ url, method, headers, bodySize, type, begun, sent = 0, answered = 0, ended = 0 }, id) {
  return {
    request: id, url, method, headers: headers.map(headerOf), cookies: cookiesOf(headers), headersSize: lengthOf(headers), bodySize,
    destination: DESTINATIONS[type] ?? '', initiatorType: INITIATORS[type] ?? null,
    // Times of day, as Firefox's own remote end has them; zero for what is not known.
    timings: {
      timeOrigin: 0, requestTime: begun, redirectStart: 0, redirectEnd: 0, fetchStart: begun, dnsStart: 0, dnsEnd: 0, connectStart: 0, connectEnd: 0, tlsStart: 0, tlsEnd: 0, requestStart: sent,
      responseStart: answered, responseEnd: ended,
    },
  };
}

/** @type {Record<string, string>} */
const DESTINATIONS = { main_frame: 'document', sub_frame: 'iframe', script: 'script', stylesheet: 'style', image: 'image', imageset: 'image', font: 'font', media: 'video', object: 'object', xslt: 'xslt', web_manifest: 'manifest' };
/** Firefox does not tell extensions a fetch from an XMLHttpRequest. @type {Record<string, string>} */
const INITIATORS = { sub_frame: 'iframe', script: 'script', stylesheet: 'link', image: 'img', imageset: 'img', font: 'css', xmlhttprequest: 'fetch', beacon: 'beacon', ping: 'beacon' };

/** @param {any} request */
const initiatorOf = ({ type }) => (type === 'script' || type === 'stylesheet' || type === 'image' ? 'parser' : 'other');

/** @param {any} details */
function responseOf({ requestId, url, statusCode, statusLine = '', fromCache = false, responseHeaders = [], responseSize = 0 }) {
  const [protocol, , ...text] = statusLine.split(' ');
  const value = (/** @type {string} */ wanted) => responseHeaders.find((/** @type {any} */ { name }) => name.toLowerCase() === wanted)?.value ?? '';
  // What has come in all is known at the end; where a body is collected, Firefox counts nothing, and we do.
  const headersSize = lengthOf(responseHeaders) + statusLine.length + 4;
  const size = Number(value('content-length')) || Math.max(0, responseSize - headersSize) || sizeOfBody(requestId);
  return {
    url, protocol: protocol.toLowerCase(), status: statusCode, statusText: text.join(' '), fromCache, headers: responseHeaders.map(headerOf), mimeType: value('content-type'),
    bytesReceived: fromCache ? 0 : Math.max(responseSize, size + headersSize), headersSize, bodySize: size, content: { size },
  };
}

/** @param {any} header */
const headerOf = ({ name, value, binaryValue }) => ({ name, value: { type: 'string', value: value ?? String.fromCharCode(...binaryValue ?? []) } });

/** @param {any[]} headers */
const lengthOf = (headers) => headers.reduce((sum, { name, value = '' }) => sum + name.length + value.length + 4, 0);

/** @param {any[]} headers */
function cookiesOf(headers) {
  const text = headers.find(({ name }) => name.toLowerCase() === 'cookie')?.value ?? '';
  return text.split('; ').filter(Boolean).map((/** @type {string} */ pair) => {
    const at = pair.indexOf('=');
    return { name: pair.slice(0, at), value: { type: 'string', value: pair.slice(at + 1) } };
  });
}

/** @param {any} body */
const sizeOf = (body) => (body?.raw ?? []).reduce((/** @type {number} */ sum, /** @type {any} */ { bytes }) => sum + (bytes?.byteLength ?? 0), 0);

/** @type {Record<string, (params: any) => Promise<object | void>>} */
export const COMMANDS = { ...bodies, ...intercepts };
