// An extension as the hub's door sees it: the handshake and the pairing of docs/protocols/extension.md,
// scripted, so that a test can do each step wrong.
import { randomBytes, webcrypto } from 'node:crypto';
import WebSocket from 'ws';
import { within } from './until.mjs';

const { subtle } = webcrypto;

/** An id that no real extension has; hubs under test take it with `extension.ids`. */
export const PEER_ID = 'abcdefghijklmnopabcdefghijklmnop';
export const ORIGIN = `chrome-extension://${PEER_ID}`;

export const newInstance = () => randomBytes(16).toString('hex');
export const newNonce = () => randomBytes(32).toString('base64url');

const bytes = (text) => Buffer.from(text, 'base64url');
const joined = (...parts) => Buffer.from(parts.join('\n'));
const sha256 = async (...parts) => Buffer.from(await subtle.digest('SHA-256', joined(...parts)));

async function hmac(key, ...parts) {
  const imported = await subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return Buffer.from(await subtle.sign('HMAC', imported, joined(...parts))).toString('base64url');
}

export class Peer {
  messages = [];
  #waiting = [];
  /** Whether it answers pings. */
  lives = true;
  pings = 0;

  /** Opens the socket; an upgrade that is refused throws with its `status` and `text`. */
  static async open(port, { instance = newInstance(), headers = { origin: ORIGIN }, path } = {}) {
    const peer = new Peer();
    peer.instance = instance;
    peer.port = port;
    peer.nonce = newNonce();
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path ?? `/extension?instance=${instance}`}`, { headers, perMessageDeflate: false });
    peer.socket = socket;
    peer.closed = new Promise((resolve) =>
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() })));
    socket.on('message', (data) => peer.#receive(data.toString()));
    const open = new Promise((resolve, reject) => {
      socket.on('open', resolve);
      socket.on('error', reject);
      socket.on('unexpected-response', (_, response) => {
        let text = '';
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () => reject(Object.assign(new Error(`HTTP ${response.statusCode}: ${text}`), { status: response.statusCode, text })));
      });
    });
    await within(10_000, 'the extension\'s socket open', open);
    return peer;
  }

  #receive(text) {
    const message = JSON.parse(text);
    if (message.method === 'ping') {
      this.pings += 1;
      if (this.lives) this.send('pong');
      return;
    }
    this.messages.push(message);
    this.#waiting.shift()?.();
  }

  send(method, params) {
    this.socket.send(JSON.stringify(params === undefined ? { method } : { method, params }));
  }

  /** The next message, which must be of this method. */
  async expect(method, ms = 10_000) {
    if (this.messages.length === 0) {
      const arrived = new Promise((resolve) => this.#waiting.push(resolve));
      const ended = this.closed.then(({ code, reason }) => {
        if (this.messages.length === 0) throw new Error(`closed (${code} ${reason}) instead of ${method}`);
      });
      await within(ms, `the hub's ${method}`, Promise.race([arrived, ended]));
    }
    const message = this.messages.shift();
    if (message.method !== method) throw new Error(`${JSON.stringify(message)} instead of ${method}`);
    return message.params;
  }

  /** What it is refused with, after which the hub closes. */
  async refused() {
    const refusal = await this.expect('refused');
    const closed = await within(5_000, 'closed after a refusal', this.closed);
    return { ...refusal, closed: closed.code };
  }

  hello(more = {}) {
    this.send('hello', {
      protocol: 1, version: '0.1.0', instance: this.instance, nonce: this.nonce, paired: false,
      browser: { name: 'Chromium', version: '156.0.8078.73', userAgent: 'Mozilla/5.0 (scripted)' }, ...more,
    });
  }

  /** The hello of one that has a key, up to the welcome. `forge` may change the proof. */
  async enter(key, { forge = (proof) => proof } = {}) {
    this.hello({ paired: true });
    const { nonce, proof, protocol, version } = await this.expect('challenge');
    const expected = await hmac(bytes(key), 'bowline-hub-1', this.nonce, nonce, this.instance, this.port);
    if (proof !== expected) throw new Error('the hub does not have the key');
    this.send('proof', { proof: forge(await hmac(bytes(key), 'bowline-extension-1', nonce, this.nonce, this.instance, this.port)) });
    return { protocol, version };
  }

  async welcome() {
    const { name } = await this.expect('welcome');
    this.send('state', {
      policy: { mode: 'auto', readOnly: false, noNewTabs: false, allow: [], deny: [], allowCookies: false, allowFiles: false, paused: false },
      tabs: [], dropped: 0,
    });
    return name;
  }

  /** The pairing up to the code. */
  async exchange() {
    this.hello();
    const { commitment } = await this.expect('commit');
    const keys = await subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, false, ['deriveBits']);
    const publicE = Buffer.from(await subtle.exportKey('raw', keys.publicKey)).toString('base64url');
    const nonceP = newNonce();
    this.send('pair', { publicKey: publicE, nonce: nonceP });
    const { publicKey: publicH, nonce: nonceH } = await this.expect('reveal');
    const promised = (await sha256('bowline-commit-1', publicH, nonceH)).toString('base64url');
    this.keptItsWord = promised === commitment;
    const theirs = await subtle.importKey('raw', bytes(publicH), { name: 'ECDH', namedCurve: 'P-256' }, false, []);
    const secret = await subtle.deriveBits({ name: 'ECDH', public: theirs }, keys.privateKey, 256);
    this.transcript = ['bowline-pair-1', publicH, nonceH, publicE, nonceP, this.instance, this.port].join('\n');
    this.key = await hmac(secret, this.transcript, 'key');
    this.code = String((await sha256(this.transcript)).readUInt32BE(0) % 1_000_000).padStart(6, '0');
    return this.code;
  }

  /** The button in the popup. */
  async confirm(key = this.key) {
    this.send('confirm', { proof: await hmac(bytes(key), 'bowline-confirm-extension-1', this.transcript) });
  }

  /** The end of a pairing, and the welcome after it. */
  async paired() {
    const { name, proof } = await this.expect('paired');
    const expected = await hmac(bytes(this.key), 'bowline-confirm-hub-1', this.transcript);
    if (proof !== expected) throw new Error('the hub came to another key');
    if (await this.welcome() !== name) throw new Error('two names');
    return name;
  }

  async close() {
    this.socket.close();
    await within(5_000, 'the extension\'s socket closed', this.closed);
  }
}
