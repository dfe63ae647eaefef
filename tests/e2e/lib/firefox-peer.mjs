// The extension in a person's Firefox as the hub's door sees it, scripted: a remote end of WebDriver BiDi that knows tabs and
// addresses and nothing of pages. For what a hub does with it; what a real one does is in own-firefox.test.mjs.
import { newInstance, Peer } from './extension-peer.mjs';
import { until } from './until.mjs';

export const FIREFOX_ORIGIN = 'moz-extension://7d1a3c52-8d3c-4c7e-9d2b-0a1b2c3d4e5f';
export const FIREFOX = { name: 'Firefox', version: '153.0', userAgent: 'Mozilla/5.0 (scripted) Firefox/153.0' };

export class FirefoxPeer {
  /** Every BiDi command that it was asked, in order: method and parameters. */
  asked = [];
  /** What the popup would show: who drives which tab. */
  drivers = [];
  /** Methods that it does not answer. */
  silent = new Set();
  #last = 0;

  /** Opens the socket of one that has a key, and tells its state. `before` is a peer whose tabs and session it has kept. */
  static async enter(port, { instance = newInstance(), key, policy = {}, session = 'fresh', tabs = ['https://one.test/'], before } = {}) {
    const firefox = new FirefoxPeer();
    firefox.peer = await FirefoxPeer.knock(port, { instance });
    firefox.peer.hello = (more = {}) => Peer.prototype.hello.call(firefox.peer, { browser: FIREFOX, speaks: 'bidi', ...more });
    await firefox.peer.enter(key);
    ({ name: firefox.name } = await firefox.peer.expect('welcome'));
    firefox.tabs = before?.tabs ?? new Map(tabs.map((url, index) => [`tab-${index + 1}`, { url, chosen: false }]));
    firefox.policy = policy;
    firefox.peer.socket.on('message', (data) => [JSON.parse(data.toString())].flat().forEach((message) => firefox.#take(message)));
    firefox.peer.send('state', { policy, tabs: [], dropped: 0, session });
    return firefox;
  }

  static knock = (port, { instance = newInstance(), origin = FIREFOX_ORIGIN } = {}) => Peer.open(port, { instance, headers: { origin } });

  #take({ id, method, params }) {
    if (method === 'drivers') this.drivers = params.tabs;
    if (method !== 'bidi') return;
    this.asked.push(params);
    if (this.silent.has(params.method)) return;
    try {
      this.peer.socket.send(JSON.stringify({ id, result: this.#answer(params.method, params.params) }));
    } catch (error) {
      this.peer.socket.send(JSON.stringify({ id, error: JSON.stringify({ error: error.code ?? 'unknown error', message: error.message }) }));
    }
  }

  #answer(method, { context, url, target, type }) {
    const at = context ?? target?.context;
    if (at !== undefined && !this.tabs.has(at)) throw Object.assign(new Error(`${at} not found`), { code: 'no such frame' });
    switch (method) {
      case 'session.new': return { sessionId: 's', capabilities: { browserName: 'firefox', browserVersion: '153.0', userAgent: FIREFOX.userAgent } };
      case 'session.subscribe': return { subscription: `subscription-${++this.#last}` };
      case 'browsingContext.getTree': return { contexts: [...this.tabs.keys()].map(this.#described) };
      case 'browsingContext.create': return { context: this.open(type === 'tab' ? 'about:blank' : '') };
      case 'browsingContext.navigate': return this.go(context, url);
      case 'script.evaluate': return { type: 'success', realm: `realm-${at}`, result: { type: 'string', value: this.tabs.get(at).url } };
      case 'storage.getCookies': return { cookies: ['one.test', 'two.test'].map((domain) => ({ name: 'id', domain, path: '/', value: { type: 'string', value: domain } })) };
      case 'future.command': throw Object.assign(new Error(method), { code: 'unknown command' });
      default: return {};
    }
  }

  #described = (context) => {
    const { url, chosen, incognito = false } = this.tabs.get(context);
    return {
      context, url, userContext: 'default', originalOpener: null, parent: null, children: [], clientWindow: 'w',
      'bowline:chosen': chosen, 'bowline:incognito': incognito,
    };
  };

  event(method, params) {
    this.peer.send('bidiEvent', { method, params });
  }

  /** A tab that the person opens. */
  open(url, more = {}) {
    const context = `new-${++this.#last}-${this.tabs.size}`;
    this.tabs.set(context, { url, chosen: false, ...more });
    this.event('browsingContext.contextCreated', this.#described(context));
    return context;
  }

  go(context, url) {
    this.tabs.get(context).url = url;
    const step = { context, url, navigation: `n${++this.#last}`, timestamp: Date.now(), userContext: 'default' };
    for (const name of ['navigationStarted', 'navigationCommitted', 'domContentLoaded', 'load']) this.event(`browsingContext.${name}`, step);
    return { navigation: step.navigation, url };
  }

  choose(context, chosen) {
    this.tabs.get(context).chosen = chosen;
    this.event('bowline.chosen', { context, chosen });
  }

  setPolicy(change) {
    this.policy = { ...this.policy, ...change };
    this.peer.send('policy', this.policy);
  }

  /** How often it was asked this. */
  count = (method) => this.asked.filter((one) => one.method === method).length;

  wasAsked = (method) => until(`the extension is asked ${method}`, () => this.count(method) > 0);

  close = () => this.peer.close();
}
