// @ts-check
// The beginning of a connection: both sides prove that they know the pairing key, or make one.
// It knows neither sockets nor chrome.*: messages come in, messages and outcomes go out.

export const PROTOCOL = 1;

/**
 * @typedef {{name: string, version: string, userAgent: string}} Browser
 * @typedef {{code: string, message: string, hint: string}} Refusal
 *
 * What `receive` found out, if anything: the hub is who it says and has let us in; a code is to be
 * compared; the pairing is done and its key is to be stored; we are refused; it is not our hub.
 * @typedef {{kind: 'welcome', name: string}
 *   | {kind: 'code', code: string}
 *   | {kind: 'paired', name: string, key: string}
 *   | {kind: 'refused'} & Refusal
 *   | {kind: 'impostor', why: string}} Outcome
 */

const encoder = new TextEncoder();

/** @param {ArrayBuffer | Uint8Array<ArrayBuffer>} bytes */
export function base64url(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** @param {string} text */
export function fromBase64url(text) {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
}

/** @param {string[]} parts */
const joined = (...parts) => encoder.encode(parts.join('\n'));

const newNonce = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** @param {Uint8Array<ArrayBuffer> | ArrayBuffer} bytes */
const hmacKey = (bytes) => crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);

/** @param {CryptoKey} key @param {Uint8Array<ArrayBuffer>} text */
const sign = async (key, text) => base64url(await crypto.subtle.sign('HMAC', key, text));

/** Compares in constant time. @param {CryptoKey} key @param {unknown} proof @param {Uint8Array<ArrayBuffer>} text */
async function verified(key, proof, text) {
  try {
    return await crypto.subtle.verify('HMAC', key, fromBase64url(String(proof)), text);
  } catch {
    return false;
  }
}

export class Handshake {
  #instance;
  #key;
  #port;
  #send;
  #nonce = newNonce();
  /** The hub has proven itself; only then does its welcome count. */
  #proven = false;
  /** @type {{commitment: string, keys: CryptoKeyPair, publicKey: string, nonce: string} | undefined} */
  #offer;
  /** @type {{transcript: string, key: CryptoKey, text: string, confirmed: boolean} | undefined} */
  #pairing;

  /**
   * @param {string} instance
   * @param {string} key the pairing key as base64url, '' without one
   * @param {string} port the one that was dialled, in decimal: the proofs of a hub that listens at
   *   another one, passed on by whoever listens at this one, do not fit
   * @param {(method: string, params: object) => void} send
   */
  constructor(instance, key, port, send) {
    this.#instance = instance;
    this.#key = key;
    this.#port = port;
    this.#send = send;
  }

  /** @param {string} version @param {Browser} browser @param {object} [more] what else this browser's extension has to say of itself */
  hello(version, browser, more = {}) {
    this.#send('hello', {
      protocol: PROTOCOL, version, instance: this.#instance, nonce: this.#nonce, paired: this.#key !== '', browser, ...more,
    });
  }

  /**
   * Takes the hub's messages one after the other.
   * @param {{method?: unknown, params?: any}} message
   * @returns {Promise<Outcome | undefined>}
   */
  async receive({ method, params = {} }) {
    switch (method) {
      case 'challenge': return this.#challenge(params);
      case 'commit': return this.#commit(params);
      case 'reveal': return this.#reveal(params);
      case 'paired': return this.#paired(params);
      case 'welcome':
        if (!this.#proven) return impostor('it welcomed us without a proof');
        return { kind: 'welcome', name: String(params.name ?? '') };
      case 'refused':
        return { kind: 'refused', code: String(params.code), message: String(params.message ?? ''), hint: String(params.hint ?? '') };
      default:
        return impostor('it does not speak as the hub does');
    }
  }

  /** @param {any} params @returns {Promise<Outcome | undefined>} */
  async #challenge({ protocol, version, nonce, proof }) {
    if (protocol !== PROTOCOL) {
      const older = protocol < PROTOCOL ? 'The hub is older.' : 'The extension is older.';
      return { kind: 'refused', code: 'protocol_version', message: `The hub (${version}) speaks protocol ${protocol}, this extension ${PROTOCOL}. ${older}`, hint: '' };
    }
    if (this.#key === '') return impostor('it claims to be paired with this browser, which is not');
    const key = await hmacKey(fromBase64url(this.#key));
    if (!await verified(key, proof, joined('bowline-hub-1', this.#nonce, String(nonce), this.#instance, this.#port))) {
      return impostor('it does not know the pairing key');
    }
    this.#proven = true;
    this.#send('proof', { proof: await sign(key, joined('bowline-extension-1', String(nonce), this.#nonce, this.#instance, this.#port)) });
    return undefined;
  }

  /** @param {any} params @returns {Promise<Outcome | undefined>} */
  async #commit({ commitment }) {
    // Whoever is paired is never talked into a new pairing from the other side.
    if (this.#key !== '' || this.#offer) return impostor('it asked for a pairing that nobody wanted');
    const keys = /** @type {CryptoKeyPair} */ (await crypto.subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, false, ['deriveBits']));
    const publicKey = base64url(await crypto.subtle.exportKey('raw', keys.publicKey));
    this.#offer = { commitment: String(commitment), keys, publicKey, nonce: newNonce() };
    this.#send('pair', { publicKey, nonce: this.#offer.nonce });
    return undefined;
  }

  /** @param {any} params @returns {Promise<Outcome | undefined>} */
  async #reveal({ publicKey, nonce }) {
    const offer = this.#offer;
    if (!offer || this.#pairing) return impostor('it revealed a key out of turn');
    const promised = base64url(await crypto.subtle.digest('SHA-256', joined('bowline-commit-1', String(publicKey), String(nonce))));
    if (promised !== offer.commitment) return impostor('it revealed another key than it had promised');
    let secret;
    try {
      const theirs = await crypto.subtle.importKey('raw', fromBase64url(publicKey), { name: 'ECDH', namedCurve: 'P-256' }, false, []);
      secret = await crypto.subtle.deriveBits({ name: 'ECDH', public: theirs }, offer.keys.privateKey, 256);
    } catch {
      return impostor('its key is none');
    }
    const transcript = ['bowline-pair-1', publicKey, nonce, offer.publicKey, offer.nonce, this.#instance, this.#port].join('\n');
    const text = await sign(await hmacKey(secret), joined(transcript, 'key'));
    this.#pairing = { transcript, text, key: await hmacKey(fromBase64url(text)), confirmed: false };
    const digest = new DataView(await crypto.subtle.digest('SHA-256', encoder.encode(transcript)));
    const digits = String(digest.getUint32(0) % 1_000_000).padStart(6, '0');
    return { kind: 'code', code: `${digits.slice(0, 3)} ${digits.slice(3)}` };
  }

  /** The person says that the codes match. */
  async confirm() {
    const pairing = this.#pairing;
    if (!pairing || pairing.confirmed) return;
    pairing.confirmed = true;
    this.#send('confirm', { proof: await sign(pairing.key, joined('bowline-confirm-extension-1', pairing.transcript)) });
  }

  /** @param {any} params @returns {Promise<Outcome | undefined>} */
  async #paired({ name, proof }) {
    const pairing = this.#pairing;
    if (!pairing?.confirmed) return impostor('it ended a pairing that was not confirmed here');
    if (!await verified(pairing.key, proof, joined('bowline-confirm-hub-1', pairing.transcript))) {
      return impostor('it does not know the key of this pairing');
    }
    this.#key = pairing.text;
    this.#proven = true;
    return { kind: 'paired', name: String(name), key: pairing.text };
  }
}

/** @param {string} why @returns {Outcome} */
const impostor = (why) => ({ kind: 'impostor', why });
