// A person's own Firefox: a real one, headless, with the package that `bowline extension install --firefox` writes, paired with a
// hub. The package is a copy with a preset beside its manifest, because nobody is there to press its buttons; Firefox's own
// remote end puts it in, and is the person's hand and eye past the extension.
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bidi } from './bidi.mjs';
import { findFirefox } from './env.mjs';
import { Home } from './hub.mjs';
import { alive, endAllOf, gone, signal } from './processes.mjs';
import { Rest } from './rest.mjs';
import { until } from './until.mjs';

/** What a test may do without asking: everything. */
const OPEN = { allowCookies: true, allowFiles: true };

/** What keeps it quiet and its own; without the first an installation is asked about. */
const PREFERENCES = {
  'datareporting.policy.dataSubmissionEnabled': false, 'browser.shell.checkDefaultBrowser': false, 'browser.aboutwelcome.enabled': false,
  'browser.startup.page': 0, 'browser.newtabpage.enabled': false, 'termsofuse.bypassNotification': true, 'app.normandy.enabled': false,
  'toolkit.telemetry.server': 'data:,', 'services.settings.server': 'data:,#remote-settings-dummy/v1', 'browser.region.network.url': '',
  'network.captive-portal-service.enabled': false, 'network.connectivity-service.enabled': false, 'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false, 'extensions.getAddons.cache.enabled': false, 'app.update.disabledForTesting': true,
  'browser.download.folderList': 2,
};

export class OwnFirefox {
  /** `pages` are open from the beginning. One that is not paired has the permissions that it would ask for. */
  static async start({ policy = OPEN, pages = [], env, name, hub, paired = true } = {}) {
    const own = new OwnFirefox();
    own.root = await mkdtemp(join(tmpdir(), 'bowline-e2e-own-firefox-'));
    try {
      own.home = hub?.home ?? await Home.make(env);
      own.hub = hub ?? await own.home.serve();
      own.sharesHub = hub !== undefined;
      own.instance = randomBytes(16).toString('hex');
      own.rest = await Rest.of(own.hub);
      await own.unpack();
      await (paired ? own.pair({ policy, name }) : own.preset({ hub: own.address, policy }));
      await own.launch();
      if (paired) await own.ready();
      for (const url of pages) await own.open(url);
      return own;
    } catch (error) {
      await own.stop();
      throw error;
    }
  }

  /** The package as a user gets it. */
  async unpack() {
    const { path, id } = await this.home.json('extension', 'install', '--firefox');
    this.extension = join(this.root, 'extension');
    this.id = id;
    await cp(path, this.extension, { recursive: true });
  }

  async pair({ policy, name }) {
    const { name: told, key } = await this.rest.post('/extensions/native', {
      instance: this.instance, browser: { name: 'Firefox', version: '1', userAgent: '' }, ...(name && { name }),
    });
    this.name = told;
    await this.preset({ hub: this.address, instance: this.instance, key, policy });
  }

  get address() {
    return `http://127.0.0.1:${this.hub.port}`;
  }

  async preset(preset) {
    await writeFile(join(this.extension, 'preset.json'), JSON.stringify(preset));
    if (preset.key) return;
    const path = join(this.extension, 'manifest.json');
    const manifest = JSON.parse(await readFile(path, 'utf8'));
    manifest.permissions.push(...manifest.optional_permissions);
    await writeFile(path, JSON.stringify({ ...manifest, optional_permissions: [] }));
  }

  async launch() {
    const profile = join(this.root, 'profile');
    const downloads = join(this.root, 'downloads');
    for (const path of [profile, downloads]) await mkdir(path, { recursive: true });
    // Firefox makes up an address for each installation; one that it has already is kept.
    this.origin ??= `moz-extension://${randomUUID()}`;
    const uuids = JSON.stringify({ [this.id]: this.origin.slice('moz-extension://'.length) });
    const preferences = { ...PREFERENCES, 'browser.download.dir': downloads, 'extensions.webextensions.uuids': uuids };
    const lines = Object.entries(preferences).map(([key, value]) => `user_pref(${JSON.stringify(key)}, ${JSON.stringify(value)});\n`);
    await writeFile(join(profile, 'user.js'), lines.join(''));
    const wayIn = join(profile, 'WebDriverBiDiServer.json');
    await rm(wayIn, { force: true });
    const child = spawn(findFirefox(),
      ['--headless', '--profile', profile, '--remote-debugging-port=0', '--no-remote', '--new-instance', '--remote-allow-system-access'],
      { stdio: 'ignore', env: { ...process.env, HOME: this.root, TMPDIR: this.root, MOZ_CRASHREPORTER_DISABLE: '1' } });
    this.pid = child.pid;
    const { ws_host: host, ws_port: port } = await until('Firefox listens', async () => {
      if (!alive(this.pid)) throw new Error('Firefox has exited');
      return JSON.parse(await readFile(wayIn, 'utf8'));
    }, 30_000);
    this.person = await Bidi.connect(`ws://${host}:${port}/session`);
    await this.person.send('session.new', { capabilities: { alwaysMatch: { unhandledPromptBehavior: { default: 'ignore' } } } });
    await this.person.send('webExtension.install', { extensionData: { type: 'path', path: this.extension } });
  }

  /** The hub has it, and it answers. */
  ready = () => until('the extension is connected', async () => {
    if (!alive(this.pid)) throw new Error('Firefox has exited');
    const { browsers } = await this.rest.get('/status');
    return browsers.find((browser) => browser.name === this.name)?.state === 'ready';
  }, 20_000);

  get session() {
    return `ws://127.0.0.1:${this.hub.port}/t/${this.rest.token}/b/${this.name}/session`;
  }

  /** A client of BiDi with a session. */
  client = () => Bidi.session(this.session);

  /** A tab that the person opens; gives what Firefox itself calls it. */
  async open(url) {
    const { context } = await this.person.send('browsingContext.create', { type: 'tab' });
    await this.person.send('browsingContext.navigate', { context, url, wait: 'complete' });
    return context;
  }

  /** What an expression gives in the popup, opened as a page of its own: the same messages go from it. */
  async inPopup(expression) {
    const context = await this.open(`${this.origin}/popup/popup.html`);
    try {
      return await this.person.evaluate(expression, context);
    } finally {
      await this.person.send('browsingContext.close', { context });
    }
  }

  /** What a button or switch of the popup sends; done when the view fits. */
  press = (request, fits, ...args) => this.inPopup(`new Promise((resolve, reject) => {
    const port = browser.runtime.connect({ name: 'popup' });
    const fits = ${fits};
    port.onMessage.addListener(({ view, error }) => {
      if (error) reject(new Error(error));
      else if (fits(view, ...${JSON.stringify(args)})) resolve(JSON.stringify(view));
    });
    port.postMessage(${JSON.stringify(request)});
  })`).then(JSON.parse);

  /** Changes the policy; what is not named stays. */
  setPolicy = (change) => this.press({ wish: 'policy', change },
    ({ policy }, wanted) => Object.entries(wanted).every(([name, value]) => JSON.stringify(policy[name]) === JSON.stringify(value)), change);

  /** Puts a tab at the agents' disposal, in manual mode, or takes it back; `path` is in its address. */
  async choose(path, on) {
    const { tabs } = await this.press({ wish: 'none' }, ({ tabs: all }, wanted) => all.some(({ url }) => url.includes(wanted)), path);
    const { tabId } = tabs.find(({ url }) => url.includes(path));
    await this.press({ wish: 'choose', tabId, on }, ({ tabs: now }, id, wanted) => now.find((tab) => tab.tabId === id)?.chosen === wanted, tabId, on);
  }

  /** The hub dies and another one comes up at its port. */
  async restartHub() {
    const { port } = this.hub;
    await this.hub.kill();
    this.hub = await this.home.serve({ env: { BOWLINE_PORT: String(port) } });
    this.rest = await Rest.of(this.hub);
  }

  async stop() {
    if (this.pid) {
      signal(this.pid, 'SIGKILL');
      await gone(this.pid);
    }
    await endAllOf(this.root);
    await rm(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    if (!this.sharesHub) await this.hub?.stop();
  }
}
