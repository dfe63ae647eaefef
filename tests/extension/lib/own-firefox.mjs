// A person's Firefox at a hub of a few lines, and a site: what the tests of Firefox's extension begin with.
import { createServer } from 'node:net';
import { Site } from '../../e2e/lib/site.mjs';
import { Firefox } from './firefox.mjs';
import { FakeHub, newInstance, newKey } from './hub.mjs';

export class OwnFirefox {
  static async start({ pages, policy, prefs, begin = true } = {}) {
    const own = new OwnFirefox();
    const key = newKey();
    own.hub = await FakeHub.start({ key, name: 'firefox' });
    own.site = await Site.start(pages);
    own.firefox = await Firefox.start({ prefs, preset: { hub: own.hub.address, instance: newInstance(), key, ...(policy && { policy }) } });
    own.link = await own.hub.ready(1, 30_000);
    if (begin) await own.begin();
    return own;
  }

  async begin(events = ['browsingContext', 'log']) {
    await this.ask('session.new', { capabilities: {} });
    await this.ask('session.subscribe', { events });
  }

  /** A command of BiDi; its error has the code and the words of BiDi. */
  async ask(method, params = {}) {
    try {
      return await this.link.ask('bidi', { method, params });
    } catch (problem) {
      if (!problem.message.startsWith('{')) throw problem;
      const { error, message } = JSON.parse(problem.message);
      throw Object.assign(new Error(`${method}: ${error}: ${message}`), { code: error });
    }
  }

  /** The first event of this name that fits, among those seen and those to come. */
  async event(method, fits = () => true, ms = 10_000) {
    const { params } = await this.link.message('bidiEvent', (told) => told.method === method && fits(told.params), ms);
    return params.params;
  }

  events(method) {
    return this.link.messages.filter((one) => one.method === 'bidiEvent' && one.params.method === method).map((one) => one.params.params);
  }

  async open(path, origin = this.site.origin) {
    const { context } = await this.ask('browsingContext.create', { type: 'tab' });
    await this.ask('browsingContext.navigate', { context, url: origin + path, wait: 'complete' });
    return context;
  }

  /** What an expression gives in the page's own world, or in a sandbox. */
  async evaluate(context, expression, sandbox) {
    const answer = await this.ask('script.evaluate', { expression, target: { context, ...(sandbox && { sandbox }) }, awaitPromise: true });
    if (answer.type !== 'success') throw new Error(answer.exceptionDetails.text);
    return plain(answer.result);
  }

  async node(context, selector) {
    const { result } = await this.ask('script.evaluate', { expression: `document.querySelector(${JSON.stringify(selector)})`, target: { context, sandbox: 'test' }, awaitPromise: false });
    return { sharedId: result.sharedId };
  }

  /** The middle of an element, in its own frame's measure. */
  async middle(context, selector) {
    const [x, y] = await this.evaluate(context, `(() => { const r = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`, 'test');
    return { x: Math.round(x), y: Math.round(y) };
  }

  mouse(context, ...actions) {
    return this.ask('input.performActions', { context, actions: [{ type: 'pointer', id: 'mouse', parameters: { pointerType: 'mouse' }, actions }] });
  }

  async click(context, selector, times = 1) {
    const press = [{ type: 'pointerDown', button: 0 }, { type: 'pointerUp', button: 0 }];
    await this.mouse(context, { type: 'pointerMove', ...await this.middle(context, selector) }, ...Array(times).fill(press).flat());
  }

  type(context, text) {
    const actions = [...text].flatMap((value) => [{ type: 'keyDown', value }, { type: 'keyUp', value }]);
    return this.ask('input.performActions', { context, actions: [{ type: 'key', id: 'keyboard', actions }] });
  }

  async stop() {
    await this.firefox?.stop();
    await this.site?.stop();
    await this.hub?.stop();
  }
}

/** A value of BiDi as one of JavaScript. */
export function plain({ type, value }) {
  if (type === 'array' || type === 'nodelist' || type === 'set') return value.map(plain);
  if (type === 'object') return Object.fromEntries(value.map(([name, one]) => [name, plain(one)]));
  if (type === 'null') return null;
  return value;
}

/** A port that was free a moment ago. */
export async function closedPort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
