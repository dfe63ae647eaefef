// @ts-check
// The connection to the hub: one WebSocket, opened again and again with back-off, silent until both
// sides have proven themselves. Events go out in batches, replies at once. It knows nothing of tabs.
import { browserOf } from './browser.js';
import { explain } from './explain.js';
import { Handshake } from './handshake.js';
import { Outbox } from './outbox.js';
import { changeKey, ready, settings } from './settings.js';

/**
 * How things stand, for the person.
 * @typedef {{kind: 'looking', why: string}
 *   | {kind: 'unpaired', message: string}
 *   | {kind: 'pairing', code: string, confirmed: boolean}
 *   | {kind: 'connected', name: string}
 *   | {kind: 'refused', code: string, message: string, hint: string}
 *   | {kind: 'impostor', why: string}} Status
 *
 * What the rest of the extension lends to the relay.
 * @typedef {object} Handlers
 * @property {(message: any, connection: Connection) => void} obey takes one message of the proven hub
 * @property {(send: (state: object) => void) => Promise<void>} state gives the state, in the order of the tab events
 * @property {() => void} changed `status` is another one
 * @property {object} [hello] more members of the hello
 * @property {() => void} lost there has been no hub for so long that it has let go, too
 */

const FIRST_DELAY = 250;
const LONGEST_DELAY = 15_000;
/** A hub that has just been there is likely to come back at once. */
const RECENTLY = 60_000;
const RECENT_DELAY = 1_500;
/** While a person looks at the popup, waiting for the terminal: no longer than this. */
const WATCHED_DELAY = 1_000;
/** The hub pings every 5 s; four missing pings mean that nobody is there any more. */
const SILENCE = 20_000;
/** For the socket to open and for each answer of the hello. A pairing waits for people instead. */
const PATIENCE = 5_000;
const PAIRING_PATIENCE = 150_000;
/** The hub lets go of its tabs after the same time. */
const LET_GO = 40_000;
/**
 * The first event goes at once; those that follow it within this many milliseconds go together. Each
 * frame costs more than the events in it: 20,000 console lines took 4.2 s one by one, 2.6 s so.
 */
const GATHER = 2;
/** Events are sent when this many characters have come together, at the latest. */
const BATCH = 256 * 1024;
/** What Chrome may hold for a hub that does not read, before the connection is given up. */
const MOST_BUFFERED = 256 * 1024 * 1024;

/** @type {Status} */
export let status = { kind: 'looking', why: '' };

/** @type {Handlers} */
let handlers;
/** @type {Connection | undefined} */
let current;
/** The one connection whose state has gone out: events may follow. @type {Connection | undefined} */
let live;
const outbox = new Outbox();

let failures = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let watched = false;
let alone = Date.now();

/** @param {Handlers} given */
export function start(given) {
  handlers = given;
  connect();
}

/** Whether the hub hears events now; what happened before is in the state it gets. */
export const isLive = () => live !== undefined;

/** Tries at once, and anew: the address, the pairing or the person's patience has changed. */
export function again() {
  failures = 0;
  current?.end();
  clearTimeout(timer);
  connect();
}

/** The alarm: what a worker that died in between had planned. */
export function wake() {
  if (!current && timer === undefined) connect();
  else checkAlone();
}

/** @param {boolean} now whether the popup is open */
export function watch(now) {
  const began = now && !watched;
  watched = now;
  if (began && !current) again();
}

export function confirmPairing() {
  void current?.confirm();
}

/**
 * An event of the cold kind.
 * @param {string} method
 * @param {object} params
 */
export function tell(method, params) {
  event(`{"method":"${method}","params":${JSON.stringify(params)}}`);
}

/**
 * An event as text, on its way with the next batch.
 * @param {string} text
 */
export function event(text) {
  if (live) live.add(text);
  else outbox.push(text);
}

/** @param {Status} next */
function show(next) {
  status = next;
  handlers.changed();
}

function connect() {
  clearTimeout(timer);
  timer = undefined;
  checkAlone();
  current ??= new Connection();
}

function checkAlone() {
  if (!live && Date.now() - alone > LET_GO) handlers.lost();
}

/** @param {Connection} connection */
function ended(connection) {
  if (live === connection) {
    alone = Date.now();
    live = undefined;
  }
  if (current !== connection) return;
  current = undefined;
  const longest = watched ? WATCHED_DELAY : Date.now() - alone < RECENTLY ? RECENT_DELAY : LONGEST_DELAY;
  const delay = Math.min(FIRST_DELAY * 2 ** failures++, longest);
  timer = setTimeout(connect, delay * (1 + Math.random() / 2));
}

/** Sends after the events that have arrived already, which a microtask would not wait for. */
const channel = new MessageChannel();
channel.port1.onmessage = () => live?.flush();

export class Connection {
  /** @type {WebSocket | undefined} */
  #socket;
  /** @type {Handshake | undefined} */
  #handshake;
  /** Messages of the hello are taken one after the other, because crypto is asynchronous. */
  #order = Promise.resolve();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #deadline;
  #patience = PATIENCE;
  #heard = Date.now();
  #over = false;
  /** @type {Status | undefined} Why it ended, if the hub or we have said so. */
  #verdict;
  #name = '';

  /** Messages that wait for the batch to be sent. @type {string[]} */
  #batch = [];
  #characters = 0;
  #scheduled = false;
  /** When events went out, by the clock of `performance`. */
  #sent = 0;

  constructor() {
    void this.#open();
  }

  async #open() {
    await ready;
    const browser = await browserOf();
    if (this.#over) return;
    const address = `${settings.hub}/extension?instance=${settings.instance}`;
    // Of the text, because a URL does not name the usual port.
    const port = settings.hub.slice(settings.hub.lastIndexOf(':') + 1);
    const socket = new WebSocket(address.replace(/^http/, 'ws'));
    this.#socket = socket;
    let opened = false;
    this.#wait(this.#patience);
    socket.onopen = () => {
      opened = true;
      this.#handshake = new Handshake(settings.instance, settings.key, port, (method, params) => this.#send(JSON.stringify({ method, params })));
      this.#handshake.hello(chrome.runtime.getManifest().version, browser, handlers.hello);
    };
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onclose = () => {
      if (opened || this.#over) this.end();
      else void this.#fail(address);
    };
  }

  /** It never opened. @param {string} address */
  async #fail(address) {
    this.#verdict = await explain(address);
    this.end();
  }

  /** @param {number} ms */
  #wait(ms) {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.end(), ms);
  }

  /** @param {string} data */
  #receive(data) {
    this.#heard = Date.now();
    const message = tryJson(data);
    if (live !== this) {
      this.#order = this.#order.then(() => this.#greet(message)).catch(() => this.end());
    } else if (Array.isArray(message)) {
      for (const one of message) handlers.obey(one, this);
    } else if (message) {
      handlers.obey(message, this);
    }
  }

  /** @param {any} message */
  async #greet(message) {
    if (this.#over || !this.#handshake) return;
    // What followed the welcome in one go waited for the state.
    if (live === this) return Array.isArray(message) ? message.forEach((one) => handlers.obey(one, this)) : handlers.obey(message, this);
    for (const one of Array.isArray(message) ? message : [message ?? {}]) {
      // Keeps the worker awake while a person compares codes, and is no step: it wins no time.
      if (one?.method === 'ping') {
        this.#send('{"method":"pong"}');
        continue;
      }
      const outcome = await this.#handshake.receive(one);
      if (this.#over) return;
      this.#wait(this.#patience);
      if (outcome) await this.#take(outcome);
    }
  }

  /** @param {import('./handshake.js').Outcome} outcome */
  async #take(outcome) {
    switch (outcome.kind) {
      case 'code':
        this.#patience = PAIRING_PATIENCE;
        this.#wait(this.#patience);
        return show({ kind: 'pairing', code: outcome.code, confirmed: false });
      case 'paired':
        return changeKey(outcome.key);
      case 'welcome':
        this.#name = outcome.name;
        return handlers.state((state) => this.#goLive(state));
      case 'refused':
        this.#verdict = outcome.code === 'not_paired'
          ? { kind: 'unpaired', message: outcome.message }
          : outcome;
        return this.end();
      case 'impostor':
        this.#verdict = { kind: 'impostor', why: outcome.why };
        return this.end();
    }
  }

  async confirm() {
    await this.#handshake?.confirm();
    if (status.kind === 'pairing' && !this.#over) show({ ...status, confirmed: true });
  }

  /** The state goes first, then what has waited for it. @param {object} state */
  #goLive(state) {
    if (this.#over) return;
    clearTimeout(this.#deadline);
    failures = 0;
    this.#send(JSON.stringify({ method: 'state', params: { ...state, dropped: outbox.dropped } }));
    for (const text of outbox.drain()) this.add(text);
    live = this;
    this.flush();
    const pulse = setInterval(() => {
      if (this.#over) clearInterval(pulse);
      else if (Date.now() - this.#heard > SILENCE) this.end();
    }, SILENCE / 4);
    show({ kind: 'connected', name: this.#name });
  }

  /** @param {string} text an event */
  add(text) {
    this.#batch.push(text);
    this.#characters += text.length;
    if (this.#characters > BATCH) {
      this.flush();
    } else if (!this.#scheduled) {
      this.#scheduled = true;
      if (performance.now() - this.#sent > GATHER) channel.port2.postMessage(0);
      else setTimeout(() => this.flush(), GATHER);
    }
  }

  /**
   * A reply to what came over this connection, at once, behind the events that came before it.
   * @param {string} text
   */
  reply(text) {
    if (this.#over) return;
    this.#batch.push(text);
    this.flush();
  }

  flush() {
    this.#scheduled = false;
    const batch = this.#batch;
    if (batch.length === 0 || this.#over) return;
    if (this.#characters > 0) this.#sent = performance.now();
    this.#batch = [];
    this.#characters = 0;
    this.#send(batch.length === 1 ? batch[0] : `[${batch.join(',')}]`);
    if (this.#socket && this.#socket.bufferedAmount > MOST_BUFFERED) this.end();
  }

  /** @param {string} text */
  #send(text) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  /** Closes what is left of it; the next attempt is planned. */
  end() {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#deadline);
    this.#socket?.close();
    // Replies among them find no one who waits for them any more; the hub looks at nothing but ids.
    for (const text of this.#batch) if (!text.startsWith('{"id":')) outbox.push(text);
    this.#batch = [];
    const wasNamed = status.kind === 'connected';
    ended(this);
    if (current === undefined || wasNamed) show(this.#verdict ?? { kind: 'looking', why: wasNamed ? 'The connection is gone.' : '' });
  }
}

/** @param {string} text */
function tryJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
