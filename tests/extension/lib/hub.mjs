// A scripted hub: speaks the relay protocol from the other side, so that tests can be the hub, a hub of
// another version, or something that only pretends to be one.
import { createHash, createHmac, createECDH, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { until, within } from '../../e2e/lib/until.mjs';

export const PROTOCOL = 1;
const VERSION = '0.1.0';

export const newKey = () => randomBytes(32).toString('base64url');
export const newInstance = () => randomBytes(16).toString('hex');
const hmac = (key, ...parts) => createHmac('sha256', Buffer.from(key, 'base64url')).update(parts.join('\n')).digest('base64url');
const sha256 = (...parts) => createHash('sha256').update(parts.join('\n')).digest();

/** One connection of an extension, from its upgrade on. */
export class Link {
  #next = 1;
  #pending = new Map();
  /** Every message in order, frames with several taken apart. */
  messages = [];
  /** How many messages each frame had. */
  frames = [];
  /** A test that floods itself sets it to false. */
  record = true;
  #listeners = new Set();

  constructor(socket, request) {
    this.socket = socket;
    this.origin = request.headers.origin;
    this.url = request.url;
    this.closed = new Promise((resolve) => socket.on('close', (code) => resolve(code)));
    socket.on('message', (data) => {
      const frame = JSON.parse(data.toString());
      const list = Array.isArray(frame) ? frame : [frame];
      if (this.record) this.frames.push(list.length);
      for (const message of list) this.#take(message);
    });
    // As the hub does it: the extension takes a silent one for dead.
    const pulse = setInterval(() => this.send('ping'), 5_000);
    this.closed.then(() => {
      clearInterval(pulse);
      for (const { reject } of this.#pending.values()) reject(new Error('the connection is gone'));
      this.#pending.clear();
    });
  }

  #take(message) {
    if (message.id !== undefined) {
      const pending = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      if ('error' in message) pending?.reject(new Error(message.error));
      else pending?.resolve(message.result);
      if (!this.record) return;
    }
    if (this.record) this.messages.push(message);
    for (const listener of this.#listeners) listener(message);
  }

  on(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  send(method, params) {
    this.socket.send(JSON.stringify({ method, params }));
  }

  /** Asks, and gives the result or throws the error. */
  ask(method, params = {}) {
    const id = this.#next++;
    const answer = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    this.socket.send(JSON.stringify({ id, method, params }));
    return within(10_000, `${method} ${params.method ?? ''}`, answer);
  }

  cdp(tabId, method, params = {}, childSessionId) {
    return this.ask('cdpCommand', { tabId, method, params, ...(childSessionId && { childSessionId }) });
  }

  /** The first message of this method that fits, among those seen and those to come. */
  message(method, fits = () => true, ms = 10_000) {
    const find = () => this.messages.find((one) => one.method === method && fits(one.params));
    return until(`${method} from the extension`, () => find(), ms, 5);
  }

  event(method, fits = () => true, ms = 10_000) {
    return this.message('cdpEvent', (params) => params.method === method && fits(params), ms).then(({ params }) => params);
  }
}

/**
 * `greet(link, hello)` is what the hub does with a hello; by default it proves itself and welcomes.
 * `upgrade(request)` may give an HTTP status to refuse with.
 */
export class FakeHub {
  links = [];

  static async start({ key, name = 'chrome', greet, upgrade, port = 0 } = {}) {
    const hub = new FakeHub();
    Object.assign(hub, { key, name, upgrade });
    hub.greet = greet ?? ((link, hello) => hub.welcome(link, hello));
    hub.server = createServer((request, response) => {
      const status = hub.upgrade?.(request) ?? 200;
      hub.lastGet = { url: request.url, headers: request.headers };
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ bowline: VERSION, protocol: hub.protocol ?? PROTOCOL }));
    });
    const sockets = new WebSocketServer({ noServer: true, maxPayload: 512 * 1024 * 1024, perMessageDeflate: false });
    hub.server.on('upgrade', (request, socket, head) => {
      const status = hub.upgrade?.(request);
      if (status) return socket.end(`HTTP/1.1 ${status} no\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      return sockets.handleUpgrade(request, socket, head, (ws) => {
        const link = new Link(ws, request);
        hub.links.push(link);
        link.message('hello').then(({ params }) => hub.greet(link, params)).catch(() => ws.close());
      });
    });
    await new Promise((resolve) => hub.server.listen(port, '127.0.0.1', resolve));
    hub.port = hub.server.address().port;
    hub.address = `http://127.0.0.1:${hub.port}`;
    return hub;
  }

  /** The hub's half of the hello; throws if the extension's proof is wrong. */
  async welcome(link, hello, { key = this.key, protocol = PROTOCOL, port = this.port } = {}) {
    const nonce = randomBytes(32).toString('base64url');
    link.send('challenge', { protocol, version: VERSION, nonce, proof: hmac(key, 'bowline-hub-1', hello.nonce, nonce, hello.instance, port) });
    const { params: { proof } } = await link.message('proof');
    if (proof !== hmac(key, 'bowline-extension-1', nonce, hello.nonce, hello.instance, port)) throw new Error('wrong proof of the extension');
    link.send('welcome', { name: this.name });
  }

  /** The hub's half of a pairing, up to the code; `finish` is the person's yes in the terminal. */
  async pair(link, hello) {
    const ecdh = createECDH('prime256v1');
    const publicKey = ecdh.generateKeys().toString('base64url');
    const nonce = randomBytes(32).toString('base64url');
    link.send('commit', { commitment: sha256('bowline-commit-1', publicKey, nonce).toString('base64url') });
    const { params: theirs } = await link.message('pair');
    link.send('reveal', { publicKey, nonce });
    const transcript = ['bowline-pair-1', publicKey, nonce, theirs.publicKey, theirs.nonce, hello.instance, this.port].join('\n');
    const secret = ecdh.computeSecret(Buffer.from(theirs.publicKey, 'base64url'));
    const key = createHmac('sha256', secret).update(`${transcript}\nkey`).digest('base64url');
    const digits = String(sha256(transcript).readUInt32BE(0) % 1_000_000).padStart(6, '0');
    return {
      key,
      code: `${digits.slice(0, 3)} ${digits.slice(3)}`,
      finish: async () => {
        const { params } = await link.message('confirm', undefined, 30_000);
        if (params.proof !== hmac(key, 'bowline-confirm-extension-1', transcript)) throw new Error('wrong confirmation');
        link.send('paired', { name: this.name, proof: hmac(key, 'bowline-confirm-hub-1', transcript) });
        link.send('welcome', { name: this.name });
      },
    };
  }

  refuse(link, code, message, hint = '') {
    link.send('refused', { code, message, hint });
    link.socket.close(4400);
  }

  /** The nth connection whose state has come. */
  async ready(nth = 1, ms = 10_000) {
    return until(`connection ${nth} of the extension`, () =>
      this.links.filter((link) => link.messages.some(({ method }) => method === 'state'))[nth - 1], ms, 5);
  }

  async stop() {
    for (const { socket } of this.links) socket.terminate();
    await new Promise((resolve) => {
      this.server.close(resolve);
      this.server.closeAllConnections();
    });
  }
}
