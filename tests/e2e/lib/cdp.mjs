// A small raw CDP client: no waiting rules of its own, so that tests see the wire as it is.
import WebSocket from 'ws';
import { browserWs } from './http.mjs';
import { within } from './until.mjs';

const MAX_MESSAGE = 512 * 1024 * 1024;

export class CdpError extends Error {
  constructor(method, { code, message }) {
    super(`${method}: ${message} (${code})`);
    this.code = code;
    this.answer = message;
  }
}

export class Cdp {
  #next = 1;
  #pending = new Map();
  #listeners = new Set();
  /** Every event seen, in order; a test that floods itself sets `record` to false. */
  events = [];
  record = true;

  /** Connects to a ws:// URL, or to the browser of an http:// endpoint. */
  static async connect(url, options = {}) {
    const address = url.startsWith('http') ? await browserWs(url) : url;
    const cdp = new Cdp();
    const socket = new WebSocket(address, {
      maxPayload: MAX_MESSAGE, perMessageDeflate: false, ...options,
    });
    cdp.socket = socket;
    cdp.url = address;
    cdp.closed = new Promise((resolve) =>
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() })));
    socket.on('message', (data) => cdp.#receive(data.toString()));
    cdp.closed.then(({ code, reason }) => cdp.#fail(`socket closed: ${code} ${reason}`));
    const open = new Promise((resolve, reject) => {
      socket.on('open', resolve);
      socket.on('error', reject);
      socket.on('unexpected-response', (_, res) =>
        reject(Object.assign(new Error(`HTTP ${res.statusCode}`), { status: res.statusCode })));
    });
    await within(30_000, `open ${address}`, open);
    return cdp;
  }

  #receive(text) {
    const message = JSON.parse(text);
    if (message.id !== undefined && this.#pending.has(message.id)) {
      const { resolve, reject, method } = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      if (message.error) reject(new CdpError(method, message.error));
      else resolve(message.result);
      return;
    }
    if (this.record) this.events.push(message);
    for (const listener of this.#listeners) listener(message);
  }

  #fail(why) {
    for (const { reject, method } of this.#pending.values()) reject(new Error(`${method}: ${why}`));
    this.#pending.clear();
    for (const listener of this.#listeners) listener({ method: '(closed)', why });
  }

  send(method, params = {}, sessionId) {
    const id = this.#next++;
    const answer = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject, method }));
    this.socket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }));
    return answer;
  }

  on(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The first event of this name that fits, among those seen and those to come. */
  event(method, fits = () => true, ms = 10_000) {
    const wanted = (message) => message.method === method && fits(message.params, message.sessionId);
    const seen = this.events.find(wanted);
    if (seen) return Promise.resolve(seen);
    let off;
    const coming = new Promise((resolve, reject) => {
      off = this.on((message) => {
        if (message.method === '(closed)') reject(new Error(`waiting for ${method}: ${message.why}`));
        else if (wanted(message)) resolve(message);
      });
    });
    return within(ms, `event ${method}`, coming).finally(() => off());
  }

  async evaluate(expression, sessionId, more = {}) {
    const { result, exceptionDetails } = await this.send(
      'Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true, ...more }, sessionId);
    if (exceptionDetails) throw new Error(`evaluate: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  /** Opens a page and attaches to it. */
  async page(url = 'about:blank', more = {}) {
    const { targetId } = await this.send('Target.createTarget', { url, ...more });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    return { targetId, sessionId };
  }

  async close() {
    if (this.socket.readyState !== WebSocket.CLOSED) this.socket.close();
    return within(5_000, 'socket closed', this.closed);
  }
}
