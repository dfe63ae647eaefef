// The page script as the hub uses it: put together from its files and run in an isolated world of a frame.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { E2E } from './env.mjs';

const DIRECTORY = join(E2E, '../../crates/ops/src/page');
const read = (name) => readFileSync(join(DIRECTORY, name), 'utf8');

export const FILES = JSON.parse(read('order.json')).map((name) => ({ name, text: read(name) }));
export const SCRIPT = `(() => {\n${FILES.map(({ text }) => text).join('\n')}\nreturn api; })()`;

export class PageScript {
  /** In the main frame of a puppeteer page, or in the frame of an id. */
  static async in(page, frameId) {
    const script = new PageScript();
    script.cdp = await page.createCDPSession();
    const { frameTree } = await script.cdp.send('Page.getFrameTree');
    const { executionContextId } = await script.cdp.send('Page.createIsolatedWorld', { frameId: frameId ?? frameTree.frame.id, worldName: 'bowline' });
    script.context = executionContextId;
    const { result, exceptionDetails } = await script.cdp.send('Runtime.evaluate', { expression: SCRIPT, contextId: executionContextId });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    script.api = result.objectId;
    return script;
  }

  /** Calls a function by its name; the answer has travelled as JSON. */
  async call(name, args = {}) {
    const { result, exceptionDetails } = await this.cdp.send('Runtime.callFunctionOn', {
      objectId: this.api, functionDeclaration: 'function (name, args) { return this[name](args); }',
      arguments: [{ value: name }, { value: args }], returnByValue: true, awaitPromise: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    if (result.value?.error === 'internal') throw new Error(`${name}: ${result.value.message}`);
    return result.value;
  }

  /** The ref of the only or first match. */
  async ref(locator) {
    const { matches, message } = await this.call('find', { locator });
    if (!matches?.[0]) throw new Error(`${locator}: ${message ?? 'not found'}`);
    return matches[0].ref;
  }

  /** A function declaration on the api, with further arguments. */
  async on(functionDeclaration, ...args) {
    const { result, exceptionDetails } = await this.cdp.send('Runtime.callFunctionOn', {
      objectId: this.api, functionDeclaration, arguments: args, returnByValue: true, awaitPromise: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
}
