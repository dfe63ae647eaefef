// @ts-check
// Events that wait for a connection: bounded, the oldest go first and are counted.

const MOST_EVENTS = 1_000;
const MOST_CHARACTERS = 4 * 1024 * 1024;

export class Outbox {
  /** @type {string[]} */
  #events = [];
  #characters = 0;
  /** How many did not fit since the last `drain`. */
  dropped = 0;

  /** @param {string} text one message */
  push(text) {
    this.#events.push(text);
    this.#characters += text.length;
    while (this.#events.length > MOST_EVENTS || this.#characters > MOST_CHARACTERS) {
      this.#characters -= /** @type {string} */ (this.#events.shift()).length;
      this.dropped++;
    }
  }

  /** All that waits, in order; the outbox is empty afterwards. */
  drain() {
    const events = this.#events;
    this.#events = [];
    this.#characters = 0;
    this.dropped = 0;
    return events;
  }
}
