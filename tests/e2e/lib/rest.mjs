// The hub's REST API as a test asks it: with the token, the answer taken apart, streams as lists of events.
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { http } from './http.mjs';
import { until, within } from './until.mjs';

const search = (query) => {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
};

export class RestError extends Error {
  constructor(what, { status, headers, error }) {
    super(`${what}: ${status} ${error?.code}: ${error?.message}`);
    Object.assign(this, { status, headers, error, code: error?.code });
  }
}

export class Rest {
  /** What was asked and answered with success, as `METHOD /path`. */
  asked = new Set();
  /** The browser that is meant where none is named. */
  browser = 'default';

  constructor(base, token) {
    this.base = base;
    this.token = token;
  }

  /** For a hub, or for the one that a home's commands have started. */
  static async of({ home, port }) {
    const { token, port: told } = JSON.parse(await readFile(join(home.runtime, 'bowline', 'state.json'), 'utf8'));
    return new Rest(`http://127.0.0.1:${port ?? told}`, token);
  }

  headers = () => ({ authorization: `Bearer ${this.token}` });

  /** The answer as it came. */
  async ask(method, path, { query = {}, body, headers = {} } = {}) {
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await http(this.base, `/api${path}${search(query)}`, {
      method,
      headers: { ...this.headers(), ...json, ...headers },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    });
    let document = {};
    try {
      document = answer.json();
    } catch {
      // What is not JSON says so by having neither data nor error.
    }
    if (document.success) this.asked.add(`${method} /api${path}`);
    return { status: answer.status, headers: answer.headers, text: answer.text, ...document };
  }

  /** The data of an answer that must be one. */
  async #data(method, path, options) {
    const answer = await this.ask(method, path, options);
    if (!answer.success) throw new RestError(`${method} ${path}`, answer);
    return answer.data;
  }

  get = (path, query) => this.#data('GET', path, { query });
  post = (path, body) => this.#data('POST', path, { body });
  delete = (path) => this.#data('DELETE', path);

  /** The error of an answer that must not succeed, with its status. */
  async refused(method, path, options) {
    const { status, headers, success, error, text } = await this.ask(method, path, options);
    if (success !== false) throw new Error(`${method} ${path} succeeded: ${text}`);
    return { status, headers, ...error };
  }

  scope = (tab, browser = this.browser) =>
    `/browsers/${browser}${tab === undefined ? '' : `/tabs/${encodeURIComponent(tab)}`}`;

  tabs = async (query, browser) => (await this.get(`${this.scope(undefined, browser)}/tabs`, query)).tabs;
  console = async (tab, query, browser) => (await this.get(`${this.scope(tab, browser)}/console`, query)).messages;
  network = async (tab, query, browser) => (await this.get(`${this.scope(tab, browser)}/network`, query)).requests;

  /** The first console record that fits, once there is one. */
  line = (tab, fits, ms) => until(`the console of ${tab ?? 'all tabs'} has ${fits}`, async () =>
    (await this.console(tab)).find((record) => matches(record.text, record, fits)), ms);

  /** The first request that fits, once there is one. */
  request = (tab, fits, query, ms) => until(`the requests of ${tab ?? 'all tabs'} have ${fits}`, async () =>
    (await this.network(tab, query)).find((record) => matches(record.url, record, fits)), ms);

  /** The same, once nothing more will happen to it. */
  finished = (tab, fits, query, ms) =>
    this.request(tab, (record) => record.loadingFinished && matches(record.url, record, fits), query, ms);

  /** Follows a history; the answer is a stream whose events gather in `events`. */
  follow = (path, query = {}) => Stream.open(this, `/api${path}${search({ follow: 1, ...query })}`);
}

const matches = (text, record, fits) =>
  (typeof fits === 'function' ? fits(record) : fits instanceof RegExp ? fits.test(text) : text.includes(fits));

export class Stream {
  events = [];
  comments = 0;

  static open(rest, path) {
    const stream = new Stream();
    const opened = new Promise((resolve, reject) => {
      const { hostname, port } = new URL(rest.base);
      stream.request = request({ host: hostname, port, path, headers: rest.headers(), agent: false }, (response) => {
        stream.type = response.headers['content-type'];
        stream.status = response.statusCode;
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
          for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) stream.#take(text.slice(0, end));
        });
        stream.ended = new Promise((done) => response.on('close', done));
        response.on('error', () => {});
        resolve(stream);
      });
      stream.request.on('error', reject).end();
    });
    return within(10_000, `follow ${path}`, opened);
  }

  #take(block) {
    const event = { data: [] };
    for (const line of block.split('\n')) {
      const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
      if (name === '') this.comments += 1;
      else if (name === 'data') event.data.push(value);
      else event[name] = value;
    }
    if (event.data.length > 0) this.events.push({ ...event, data: JSON.parse(event.data.join('\n')) });
  }

  of = (name) => this.events.filter(({ event }) => event === name).map(({ data }) => data);

  /** The first event of this name that fits, once there is one. */
  async event(name, fits = () => true, ms = 10_000) {
    return until(`event ${name}: ${fits}`, () => this.of(name).find(fits), ms, 5);
  }

  async close() {
    this.request.destroy();
    await within(5_000, 'the stream closed', this.ended);
  }
}
