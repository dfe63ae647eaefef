// Browser actions through the debug routes, as curl would ask them.
import { FIREFOX, OWN_FIREFOX } from './env.mjs';
import { http } from './http.mjs';
import { Rest } from './rest.mjs';

export class Command {
  /** What the browser is. */
  kind = FIREFOX || OWN_FIREFOX ? 'firefox' : 'chromium';

  constructor(rest, browser, session = 'test') {
    Object.assign(this, { rest, browser, session });
  }

  /** For a target of the fixture: a hub's browser, or a person's own. */
  static async of(target) {
    return new Command(await Rest.of(target.hub ?? target), target.name ?? 'default');
  }

  as = (session) => new Command(this.rest, this.browser, session);

  async ask(method, path, body, headers = {}) {
    const answer = await http(this.rest.base, path, {
      method,
      headers: { ...this.rest.headers(), 'x-bowline-session': this.session, ...(body && { 'content-type': 'application/json' }), ...headers },
      body: body && JSON.stringify(body),
    });
    let document = {};
    try {
      document = answer.json();
    } catch {
      // What is not JSON has neither result nor error.
    }
    return { status: answer.status, text: answer.text, ...document };
  }

  /** The result of an action that must give one. */
  async act(action, payload = {}, browser = this.browser) {
    const answer = await this.ask('POST', '/command', { action, payload, browser });
    if (!('result' in answer)) throw new Error(`${action}: ${answer.status} ${answer.error?.code}: ${answer.error?.message} (${answer.error?.hint})${answer.error ? '' : answer.text}`);
    return answer.result;
  }

  /** The error of one that must not. */
  async refused(action, payload = {}, browser = this.browser) {
    const answer = await this.ask('POST', '/command', { action, payload, browser });
    if (!answer.error) throw new Error(`${action} succeeded: ${answer.text}`);
    return { status: answer.status, ...answer.error };
  }

  script = async (script) => (await this.act('executeScript', { script })).result;
}
