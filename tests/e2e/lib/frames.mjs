// Odd and malformed messages, and the exact answers to each: the wire's corner cases.
// After every frame goes a command whose answer marks the end, so that silence is an answer too.
import WebSocket from 'ws';
import { within } from './until.mjs';

const deep = (n) => '['.repeat(n) + ']'.repeat(n);

/** Frames for any socket. `S` stands for the session id of an attached page. */
export const FRAMES = [
  '', ' ', '\n', '\0', '{', '}', '[', '[]', '[1]', '{}', 'null', 'true', '1', '"text"', 'text',
  '{"id":1', '{"id":1}', '{"id":1,}', "{'id':1}", '{"id":1,"method":"Browser.getVersion"}}',
  '{"id":1,"method":"Browser.getVersion"} ', ' {"id":1,"method":"Browser.getVersion"}',
  '{"id":1,"method":"Browser.getVersion"}\0', '{"id":1,"method":"Browser.getVersion"}{"id":2,"method":"Browser.getVersion"}',
  '\ufeff{"id":1,"method":"Browser.getVersion"}', '// comment\n{"id":1,"method":"Browser.getVersion"}',
  '{"method":"Browser.getVersion"}', '{"id":null,"method":"Browser.getVersion"}',
  '{"id":"1","method":"Browser.getVersion"}', '{"id":1.5,"method":"Browser.getVersion"}',
  '{"id":1.0,"method":"Browser.getVersion"}', '{"id":1e2,"method":"Browser.getVersion"}',
  '{"id":-1,"method":"Browser.getVersion"}', '{"id":0,"method":"Browser.getVersion"}',
  '{"id":-0,"method":"Browser.getVersion"}', '{"id":01,"method":"Browser.getVersion"}',
  '{"id":2147483647,"method":"Browser.getVersion"}', '{"id":2147483648,"method":"Browser.getVersion"}',
  '{"id":-2147483648,"method":"Browser.getVersion"}', '{"id":-2147483649,"method":"Browser.getVersion"}',
  '{"id":9007199254740993,"method":"Browser.getVersion"}', '{"id":1e400,"method":"Browser.getVersion"}',
  '{"id":true,"method":"Browser.getVersion"}', '{"id":[1],"method":"Browser.getVersion"}',
  '{"id":{"a":1},"method":"Browser.getVersion"}', '{"id":1,"id":2,"method":"Browser.getVersion"}',
  '{"id":1,"method":"Browser.getVersion","method":"Nope.nope"}',
  '{"id":1,"method":""}', '{"id":1,"method":null}', '{"id":1,"method":7}', '{"id":1,"method":["a"]}',
  '{"id":1,"method":"Browser"}', '{"id":1,"method":"Browser."}', '{"id":1,"method":".getVersion"}',
  '{"id":1,"method":"Browser.nope"}', '{"id":1,"method":"Nope.getVersion"}', '{"id":1,"method":"browser.getVersion"}',
  '{"id":1,"method":"Browser.getVersion "}', '{"id":1,"method":"Br\\u006fwser.getVersion"}', '{"i\\u0064":1,"method":"Browser.getVersion"}',
  '{"id":1,"method":"Nope.\\"quoted\\\\"}', '{"id":1,"method":"Nope.äö\\u00fc😀"}', '{"id":1,"method":"Nope.\\ud800"}',
  '{"id":1,"method":"Nope.a\tb"}', '{"id":1,"method":"Nope.\\x41"}',
  '{"id":1,"method":"Browser.getVersion","params":null}', '{"id":1,"method":"Browser.getVersion","params":[]}',
  '{"id":1,"method":"Browser.getVersion","params":7}', '{"id":1,"method":"Browser.getVersion","params":"x"}',
  '{"id":1,"method":"Browser.getVersion","params":{"unknown":1}}', '{"id":1,"method":"Browser.getVersion","extra":1}',
  '{"id":1,"method":"Browser.getVersion","jsonrpc":"2.0"}', '{"id":1,"result":{}}', '{"id":1,"error":{"code":1,"message":"x"}}',
  '{"id":1,"method":"Target.getTargetInfo","params":{"targetId":"nope"}}',
  '{"id":1,"method":"Target.getTargetInfo","params":{"targetId":7}}',
  '{"id":1,"method":"Target.attachToTarget","params":{}}', '{"id":1,"method":"Target.attachToTarget","params":{"targetId":"nope","flatten":true}}',
  '{"id":1,"method":"Target.detachFromTarget","params":{"sessionId":"nope"}}', '{"id":1,"method":"Target.detachFromTarget","params":{}}',
  '{"id":1,"method":"Target.sendMessageToTarget","params":{"message":"{}","sessionId":"nope"}}',
  '{"id":1,"method":"Target.closeTarget","params":{"targetId":"nope"}}', '{"id":1,"method":"Target.disposeBrowserContext","params":{"browserContextId":"nope"}}',
  '{"id":1,"method":"Browser.getVersion","sessionId":"nope"}', '{"id":1,"method":"Browser.getVersion","sessionId":""}',
  '{"id":1,"method":"Browser.getVersion","sessionId":null}', '{"id":1,"method":"Browser.getVersion","sessionId":7}',
  '{"id":1,"method":"Browser.getVersion","sessionId":{}}', '{"id":1,"sessionId":"nope"}', '{"method":"Browser.getVersion","sessionId":"nope"}',
  '{"id":"x","method":"Browser.getVersion","sessionId":"nope"}', '{"sessionId":"nope"}',
  '{"id":1,"method":"Nope.nope","sessionId":"nope"}', '{"id":1,"method":"Runtime.evaluate","params":{"expression":7}}',
  '{"id":1,"method":"Runtime.evaluate","params":{}}', '{"id":1,"method":"Runtime.evaluate"}',
  '{"id":1,"method":"Page.navigate","params":{"url":7}}', '{"id":1,"method":"DOM.describeNode","params":{"nodeId":99999}}',
  `{"id":1,"method":"Browser.getVersion","params":{"deep":${deep(200)}}}`, `{"id":1,"method":"Browser.getVersion","params":{"deep":${deep(2_000)}}}`,
  deep(300), `{"id":1,"method":"Nope.${'x'.repeat(5_000)}"}`,
  '{"id":1,"method":"Nope.nope","sessionId":"S"}', '{"id":"x","method":"Runtime.evaluate","sessionId":"S"}',
  '{"method":"Runtime.evaluate","sessionId":"S"}', '{"id":1,"sessionId":"S"}', '{"id":1,"method":7,"sessionId":"S"}',
  '{"id":1,"method":"Runtime.evaluate","params":{"expression":7},"sessionId":"S"}',
  '{"id":1,"method":"Runtime.evaluate","params":[],"sessionId":"S"}', '{"id":1,"method":"Runtime.evaluate","sessionId":"S","sessionId":"nope"}',
  '{"id":1,"method":"Runtime.evaluate","sessionId":"nope","sessionId":"S"}', '{"id":1,"method":"Runtime.evaluate","sessionId":"\\u0053"}',
  '{"id":2147483648,"method":"Runtime.evaluate","sessionId":"S"}', '{"id":1,"method":"Runtime.nope","sessionId":"S"}',
];

const END = 777_000;

/** One socket that is asked odd things; it opens itself again when the other side hangs up. */
export class Asker {
  #socket;
  #closed;
  #session;

  /** `targetId` is a page: its endpoint when `page` is set, else attached to from the browser's. */
  constructor(target, { targetId, page = false }) {
    const { host } = new URL(target.endpoint);
    this.url = page ? `ws://${host}/devtools/page/${targetId}` : target.ws;
    this.page = page;
    this.targetId = targetId;
  }

  async #open() {
    const socket = new WebSocket(this.url, { perMessageDeflate: false });
    this.#closed = new Promise((resolve) =>
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() })));
    const open = new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject));
    await within(10_000, `open ${this.url}`, open);
    socket.on('error', () => {});
    this.#socket = socket;
    if (this.page) return;
    const attached = new Promise((resolve) => socket.on('message', function attach(data) {
      const message = JSON.parse(data);
      if (message.id !== END) return;
      socket.off('message', attach);
      resolve(message.result.sessionId);
    }));
    const params = { targetId: this.targetId, flatten: true };
    socket.send(JSON.stringify({ id: END, method: 'Target.attachToTarget', params }));
    this.#session = await attached;
  }

  /** The command whose answer marks the end: on the same way through the browser as the frame. */
  #mark(forSession) {
    const renderer = this.page || forSession;
    return JSON.stringify({
      id: END,
      method: renderer ? 'Runtime.evaluate' : 'Browser.getVersion',
      params: renderer ? { expression: '1' } : {},
      ...(forSession && !this.page && { sessionId: this.#session }),
    });
  }

  /** What comes back for `frame`, with the session's id written as S again. */
  async ask(frame, { binary = false } = {}) {
    if (this.#socket?.readyState !== WebSocket.OPEN) await this.#open();
    const socket = this.#socket;
    const forSession = typeof frame === 'string' && frame.includes('"S"');
    const answers = [];
    let receive;
    const ended = new Promise((resolve) => {
      receive = (data) => {
        const text = data.toString();
        if (JSON.parse(text).id === END) resolve();
        else answers.push(this.#session ? text.replaceAll(this.#session, 'S') : text);
      };
      socket.on('message', receive);
    });
    socket.send(forSession && this.#session ? frame.replaceAll('"S"', `"${this.#session}"`) : frame, { binary });
    socket.send(this.#mark(forSession));
    const what = `an answer after ${String(frame).slice(0, 80)}`;
    const closed = await within(10_000, what, Promise.race([ended, this.#closed]));
    socket.off('message', receive);
    return closed ? { answers, closed } : { answers };
  }

  async close() {
    this.#socket?.close();
    await this.#closed;
  }
}
