// A small raw WebDriver BiDi client: no waiting rules of its own, so that tests see the wire as it is.
import WebSocket from 'ws';
import { within } from './until.mjs';

export class BidiError extends Error {
  constructor(method, { error, message }) {
    super(`${method}: ${error}: ${message}`);
    this.code = error;
    this.answer = message;
    this.at = performance.now();
  }
}

export class Bidi {
  #next = 1;
  #pending = new Map();
  #listeners = new Set();
  /** Every event seen, in order. */
  events = [];

  /** Connects to a `/session`, without a session yet. */
  static async connect(url) {
    const bidi = new Bidi();
    const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 512 * 1024 * 1024 });
    bidi.socket = socket;
    bidi.closed = new Promise((resolve) =>
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() })));
    socket.on('message', (data) => bidi.#receive(JSON.parse(data.toString())));
    bidi.closed.then(({ code, reason }) => bidi.#fail(`socket closed: ${code} ${reason}`));
    const open = new Promise((resolve, reject) => {
      socket.on('open', resolve);
      socket.on('error', reject);
      socket.on('unexpected-response', (_, res) => {
        let text = '';
        res.on('data', (chunk) => (text += chunk));
        res.on('end', () => reject(Object.assign(new Error(`HTTP ${res.statusCode}: ${text}`), { status: res.statusCode, text })));
      });
    });
    await within(30_000, `open ${url}`, open);
    return bidi;
  }

  /** The same, with a session. */
  static async session(url) {
    const bidi = await Bidi.connect(url);
    const { sessionId, capabilities } = await bidi.send('session.new', { capabilities: {} });
    return Object.assign(bidi, { sessionId, capabilities });
  }

  #receive(message) {
    const waiting = this.#pending.get(message.id);
    if (waiting) {
      this.#pending.delete(message.id);
      if (message.type === 'error') waiting.reject(new BidiError(waiting.method, message));
      else waiting.resolve(message.result);
      return;
    }
    this.events.push(message);
    for (const listener of this.#listeners) listener(message);
  }

  #fail(why) {
    for (const { reject, method } of this.#pending.values()) reject(new Error(`${method}: ${why}`));
    this.#pending.clear();
  }

  send(method, params = {}) {
    const id = this.#next++;
    const answer = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject, method }));
    this.socket.send(JSON.stringify({ id, method, params }));
    return answer;
  }

  /** The first event of this name that fits, among those seen and those to come. */
  event(method, fits = () => true, ms = 10_000) {
    const wanted = (message) => message.method === method && fits(message.params);
    const seen = this.events.find(wanted);
    if (seen) return Promise.resolve(seen);
    let listener;
    const coming = new Promise((resolve) => {
      listener = (message) => wanted(message) && resolve(message);
      this.#listeners.add(listener);
    });
    return within(ms, `event ${method}`, coming).finally(() => this.#listeners.delete(listener));
  }

  /** A tab of its own. */
  async tab(url) {
    const { context } = await this.send('browsingContext.create', { type: 'tab' });
    if (url) await this.send('browsingContext.navigate', { context, url, wait: 'complete' });
    return context;
  }

  async evaluate(expression, context) {
    const answer = await this.send('script.evaluate', { expression, target: { context }, awaitPromise: true });
    if (answer.type !== 'success') throw new Error(`evaluate: ${answer.exceptionDetails?.text}`);
    return answer.result.value;
  }

  async close() {
    if (this.socket.readyState !== WebSocket.CLOSED) this.socket.close();
    return within(5_000, 'socket closed', this.closed);
  }
}
