// An agent as the REST door sees it: a session's name, and ops.
import { Rest, RestError } from './rest.mjs';

export class Agent {
  constructor(rest, session, browser = 'default') {
    Object.assign(this, { rest, session, browser });
  }

  /** An agent of a target of the fixture: a hub's browser, or a person's own. */
  static async of(target, session = 'test') {
    const hub = target.hub ?? target;
    return new Agent(await Rest.of(hub), session, target.name ?? 'default');
  }

  as = (session) => new Agent(this.rest, session, this.browser);

  async ask(op, input = {}, tab = 'current') {
    const path = `/browsers/${this.browser}/tabs/${encodeURIComponent(tab)}/ops/${op}`;
    return this.rest.ask('POST', path, { body: input, headers: { 'x-bowline-session': this.session } });
  }

  /** The data of an op that must succeed. */
  async op(op, input, tab) {
    const answer = await this.ask(op, input, tab);
    if (!answer.success) throw new RestError(op, { ...answer, error: { ...answer.error, message: `${answer.error?.message} (${answer.error?.hint})` } });
    return answer.data;
  }

  /** The error of one that must not. */
  async refused(op, input, tab) {
    const answer = await this.ask(op, input, tab);
    if (answer.success !== false) throw new Error(`${op} succeeded: ${answer.text}`);
    return { status: answer.status, ...answer.error };
  }

  open = (url, more) => this.op('navigate', { url, ...more });
  snapshot = async (input) => (await this.op('snapshot', input)).snapshot;
  value = async (expression) => (await this.op('evaluate', { expression })).value;

  /** The ref of the first line of a snapshot that fits. */
  async ref(fits, input) {
    const text = await this.snapshot(input);
    const line = text.split('\n').find((line) => (fits instanceof RegExp ? fits.test(line) : line.includes(fits)));
    const ref = line?.match(/\[ref=((?:f\d+)?e\d+)\]/)?.[1];
    if (!ref) throw new Error(`no line with a ref fits ${fits}:\n${text}`);
    return ref;
  }
}
