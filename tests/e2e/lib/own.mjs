// A person's own browser: a Chromium with the extension in it, paired with a hub. The extension is a copy with a
// preset beside its manifest, because nobody is there to press its buttons.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Cdp } from './cdp.mjs';
import { CHROMIUM, E2E, QUIET_FLAGS } from './env.mjs';
import { browserWs } from './http.mjs';
import { Home } from './hub.mjs';
import { alive, endAllOf, gone, signal } from './processes.mjs';
import { Rest } from './rest.mjs';
import { Screen, WINDOW } from './screen.mjs';
import { until } from './until.mjs';

const EXTENSION = resolve(E2E, '../../extension');

/** What a test may do without asking: everything. */
export const OPEN = { allowCookies: true, allowFiles: true };

export class Own {
  /** `pages` are open from the beginning; with `hasWindow` it is on a screen of its own. */
  static async start({ policy = OPEN, pages = ['about:blank'], env, name, flags = [], hub, hasWindow = false } = {}) {
    const own = new Own();
    own.root = await mkdtemp(join(tmpdir(), 'bowline-e2e-own-'));
    try {
      own.home = hub?.home ?? await Home.make(env);
      own.hub = hub ?? await own.home.serve();
      own.sharesHub = hub !== undefined;
      own.instance = randomBytes(16).toString('hex');
      await own.pair({ policy, name });
      if (hasWindow) own.screen = await Screen.start(own.root);
      await own.launch({ pages, flags });
      return own;
    } catch (error) {
      await own.stop();
      throw error;
    }
  }

  async pair({ policy, name }) {
    const rest = await Rest.of(this.hub);
    const { name: told, key } = await rest.post('/extensions/native', {
      instance: this.instance, browser: { name: 'Chromium', version: '1', userAgent: '' }, ...(name && { name }),
    });
    this.name = told;
    this.extension = join(this.root, 'extension');
    await cp(EXTENSION, this.extension, { recursive: true });
    const preset = { hub: `http://127.0.0.1:${this.hub.port}`, instance: this.instance, key, policy };
    await writeFile(join(this.extension, 'preset.json'), JSON.stringify(preset));
    this.endpoint = `http://127.0.0.1:${this.hub.port}/t/${rest.token}/b/${told}`;
    this.rest = rest;
  }

  async launch({ pages: [first = 'about:blank', ...others] = [], flags = [] } = {}) {
    const profile = join(this.root, 'profile');
    const downloads = join(this.root, 'downloads');
    await mkdir(downloads, { recursive: true });
    await mkdir(join(profile, 'Default'), { recursive: true });
    // Without the developer mode an unpacked extension that reloads itself stays switched off.
    const preferences = { download: { default_directory: downloads }, extensions: { ui: { developer_mode: true } } };
    await writeFile(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences));
    const root = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    this.child = spawn(
      CHROMIUM,
      [
        ...(this.screen ? WINDOW : ['--headless=new']), '--no-first-run', '--no-default-browser-check', '--remote-debugging-pipe', '--enable-unsafe-extension-debugging',
        `--load-extension=${this.extension}`, `--user-data-dir=${profile}`,
        ...root, ...QUIET_FLAGS, ...flags, first,
      ],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env: { ...process.env, ...this.screen?.env, HOME: this.root, TMPDIR: this.root } },
    );
    this.pid = this.child.pid;
    // The tests' own way into the browser, beside the extension.
    this.pipe = new Pipe(this.child.stdio[3], this.child.stdio[4]);
    await until('the extension is connected', async () => {
      if (!alive(this.pid)) throw new Error('Chromium has exited');
      const { browsers } = await this.rest.get('/status');
      return browsers.find((browser) => browser.name === this.name)?.state === 'ready';
    }, 20_000);
    // A headless Chromium opens one page at its start.
    for (const url of others) await this.pipe.send('Target.createTarget', { url });
    this.ws = await browserWs(this.endpoint);
  }

  cdp = () => Cdp.connect(this.ws);

  /** Targets as the browser itself knows them. */
  targets = async () => (await this.pipe.send('Target.getTargets', { filter: [{}] })).targetInfos;

  /** The extension's worker, once it runs. */
  worker = () => until('the worker of the extension', async () => (await this.targets()).find(({ type, url }) =>
    type === 'service_worker' && /^chrome-extension:.*\/background\.js$/.test(url)));

  /** What an expression gives in the extension's worker: a person's own doings, and a look behind the scenes. */
  async inExtension(expression) {
    const { targetId } = await this.worker();
    const { sessionId } = await this.pipe.send('Target.attachToTarget', { targetId, flatten: true });
    try {
      const { result, exceptionDetails } = await this.pipe.send(
        'Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true }, sessionId);
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    } finally {
      await this.pipe.send('Target.detachFromTarget', { sessionId });
    }
  }

  /** The addresses of the tabs that have a debugger. */
  attached = () => this.inExtension(`chrome.debugger.getTargets().then((all) =>
    all.filter((one) => one.attached && one.type === 'page').map((one) => one.url).sort())`);

  /** The number of the tab with this target. */
  tabOf = (targetId) => this.inExtension(`chrome.debugger.getTargets().then((all) =>
    all.find((one) => one.id === ${JSON.stringify(targetId)}).tabId)`);

  /** The page's target with this address, once the hub has told of it. */
  target = (cdp, url) => until(`a target at ${url}`, async () =>
    (await cdp.send('Target.getTargets')).targetInfos.find((info) => info.type === 'page' && info.url === url));

  /** A tab that the person opens. */
  async open(url) {
    const { targetId } = await this.pipe.send('Target.createTarget', { url });
    return targetId;
  }

  /** The hub dies and another one comes up at its port. */
  async restartHub() {
    const { port } = this.hub;
    await this.hub.kill();
    this.hub = await this.home.serve({ env: { BOWLINE_PORT: String(port) } });
    this.rest = await Rest.of(this.hub);
    this.endpoint = `http://127.0.0.1:${port}/t/${this.rest.token}/b/${this.name}`;
  }

  async stop() {
    if (this.pid) {
      signal(this.pid, 'SIGKILL');
      await gone(this.pid);
    }
    await endAllOf(this.root);
    this.screen?.stop();
    await rm(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    if (!this.sharesHub) await this.hub?.stop();
  }
}

/** CDP over the browser's pipe: NUL after each message. */
class Pipe {
  #last = 0;
  #open = new Map();
  #rest = '';

  constructor(write, read) {
    this.write = write;
    write.on('error', () => {});
    read.setEncoding('utf8').on('error', () => {}).on('data', (text) => {
      const parts = (this.#rest + text).split('\0');
      this.#rest = parts.pop();
      for (const part of parts) {
        const { id, result, error } = JSON.parse(part);
        const waiting = this.#open.get(id);
        this.#open.delete(id);
        if (error) waiting?.reject(new Error(error.message));
        else waiting?.resolve(result);
      }
    });
  }

  send(method, params = {}, sessionId) {
    const id = ++this.#last;
    this.write.write(`${JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) })}\0`);
    return new Promise((resolve, reject) => this.#open.set(id, { resolve, reject }));
  }
}
