// Runs agents' JavaScript with Playwright, in a Node process of its own.
//
// The hub sends lines of JSON on stdin: after the first (see boot.js), code to run and answers to what was asked.
// Lines on stdout that begin with the key are for the hub; what else is written there is taken for the code's.
'use strict';

const { execFile } = require('node:child_process');
const { Console } = require('node:console');
const fs = require('node:fs');
const { createRequire } = require('node:module');
const os = require('node:os');
const path = require('node:path');
const { Writable } = require('node:stream');
const util = require('node:util');
const vm = require('node:vm');
const { Worker } = require('node:worker_threads');

const PACKAGES = ['playwright-core', 'playwright', '@playwright/test'];
/** What the code finds in its scope. */
const SCOPE = ['page', 'context', 'browser', 'state', 'snapshot', 'op', 'require', 'console', 'playwright'];

const MAX_RESULT = 1 << 20;
const MAX_IMAGE = 8 << 20;
const MAX_LINES = 1000;
const MAX_LINE = 16 << 10;
const MAX_LOG = 1 << 20;
/** For `npm root -g`. */
const NPM_PATIENCE = 5000;
/** For Playwright to learn of a tab that was opened a moment ago. */
const TAB_PATIENCE = 5000;
/** Values with more members than this are shown, not sent. */
const MAX_MEMBERS = 200_000;

// A thread of its own reads stdin, so that the end of the hub is seen even while the code is in a loop.
const READER = `
const { parentPort } = require('node:worker_threads');
const end = () => {
  // The whole group, where there is such a thing.
  try { process.kill(-process.pid, 'SIGKILL'); } catch {}
  process.kill(process.pid, 'SIGKILL');
};
let rest = '';
new (require('node:net').Socket)({ fd: 0, readable: true, writable: false })
  .setEncoding('utf8')
  .on('data', (text) => {
    const lines = (rest + text).split('\\n');
    rest = lines.pop();
    for (const line of lines) if (line) parentPort.postMessage(line);
  })
  .on('end', end).on('close', end).on('error', end);
`;

module.exports = async function main(hello) {
  const say = speaker(hello.key);
  const log = logger(say);
  const reader = new Worker(READER, { eval: true });
  const captured = capture(log);
  process.on('uncaughtException', (error) => log('error', `uncaught: ${explain(error).message}`));
  process.on('unhandledRejection', (error) => log('error', `unhandled rejection: ${explain(error).message}`));
  // The hub is on this machine, whatever proxy is meant for the rest.
  const direct = process.env.no_proxy || process.env.NO_PROXY;
  process.env.no_proxy = process.env.NO_PROXY = direct ? `${direct},127.0.0.1` : '127.0.0.1';

  const cwd = hello.project ?? process.cwd();
  FILE = path.join(cwd, 'execute.js');
  const found = await findPlaywright(hello.configured && path.resolve(hello.configured), cwd);
  if (!found.file) return say({ event: 'missing', looked: found.looked });
  let playwright;
  try {
    playwright = require(found.file);
  } catch (error) {
    return say({ event: 'broken', file: found.file, message: explain(error).message });
  }
  try {
    fs.mkdirSync(hello.files, { recursive: true, mode: 0o700 });
    process.chdir(hello.files);
  } catch {
    // Then where the hub is.
  }
  const runner = new Runner({ hello, say, log, captured, playwright, file: found.file });
  reader.on('message', (line) => {
    const message = JSON.parse(line);
    if (message.answer === undefined) runner.run(message);
    else runner.answered(message);
  });
  say({ event: 'ready', node: process.version, playwright: versionOf(found.file) });
};

/** How the code is called in stack traces before they are cleaned, and where its imports are looked for. */
let FILE = 'execute.js';

class Runner {
  state = {};
  #asked = new Map();
  #lastAsk = 0;
  #targets = new WeakMap();
  /** Pages whose dialogs are the code's business. */
  #own = new WeakSet();
  #running = false;

  constructor(parts) {
    Object.assign(this, parts);
    const own = createRequire(FILE);
    const beside = createRequire(this.file);
    this.require = Object.assign((name) => {
      try {
        return own(name);
      } catch (error) {
        if (error.code !== 'MODULE_NOT_FOUND' || /^[./]/.test(name)) throw error;
        return PACKAGES.includes(name) ? this.playwright : beside(name);
      }
    }, { resolve: own.resolve });
  }

  async run({ code, target, timeout }) {
    this.log.begin();
    this.#running = true;
    let page;
    let done;
    try {
      const program = compile(code);
      await this.#connect(timeout);
      page = await this.#pageOf(target);
      if (page) {
        // So that Playwright gives up, and says why, before the hub does.
        this.context.setDefaultTimeout(Math.round(timeout * 0.8));
        done = { event: 'done', ...describe(await this.#call(program, page)) };
      } else {
        done = { event: 'no_page' };
      }
    } catch (error) {
      done = error instanceof Unconnected
        ? { event: 'unconnected', message: plain(error.message) }
        : { event: 'threw', ...explain(error) };
    }
    this.#running = false;
    this.say({ ...done, url: page && !page.isClosed() ? page.url() : '', dropped: this.log.dropped() });
  }

  async #call({ script, isExpression }, page) {
    this.#own.add(page);
    const { context, browser, state, require, captured, playwright } = this;
    const op = (name, input) => this.#ask(name, input);
    const snapshot = async (input) => (await op('snapshot', input)).text;
    const value = await script.runInThisContext()(
      page, context, browser, state, snapshot, op, require, captured, playwright);
    // `async (page) => { ... }` is meant to be called.
    return isExpression && typeof value === 'function' ? await value(page) : value;
  }

  #ask(op, input = {}) {
    const id = (this.#lastAsk += 1);
    // Made here, so that its stack tells who has asked.
    const failure = new Error();
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject, failure });
      this.say({ event: 'ask', id, op: String(op), input });
    });
  }

  answered({ answer, ok, error }) {
    const { resolve, reject, failure } = this.#asked.get(answer);
    this.#asked.delete(answer);
    if (!error) return resolve(ok);
    const message = error.hint ? `${error.message} (${error.hint})` : error.message;
    reject(Object.assign(failure, error, { message }));
  }

  async #connect(timeout) {
    if (this.browser?.isConnected()) return;
    const { endpoint, token, agent } = this.hello;
    try {
      const headers = {
        Authorization: `Bearer ${token}`,
        'User-Agent': `${agent.replace(/[^A-Za-z0-9]/g, '-')}/execute`,
        // Whose place this is, where a browser has only one.
        'X-Bowline-Agent': encodeURIComponent(agent),
      };
      this.browser = await this.playwright.chromium.connectOverCDP(endpoint, { headers, timeout });
    } catch (error) {
      throw new Unconnected(error.message);
    }
    const [context] = this.browser.contexts();
    this.context = context;
    const newPage = context.newPage.bind(context);
    context.newPage = async (...args) => {
      const page = await newPage(...args);
      this.#own.add(page);
      return page;
    };
    context.on('page', async (page) => {
      const opener = await page.opener().catch(() => null);
      if (opener && this.#own.has(opener)) this.#own.add(page);
    });
    context.on('dialog', (dialog) => this.#dialog(dialog));
  }

  /**
   * Playwright closes every dialog that nobody listens for, in all tabs. Here it is as usual while the code runs, in
   * its own pages; others are for whoever opened them.
   */
  #dialog(dialog) {
    const page = dialog.page();
    if (!this.#running || !page || !this.#own.has(page)) return;
    if (page.listenerCount('dialog') > 0 || this.context.listenerCount('dialog') > 1) return;
    const accepts = dialog.type() === 'beforeunload';
    this.log('info', `a dialog (${dialog.type()}) was ${accepts ? 'accepted' : 'dismissed'}: ${dialog.message()}`);
    (accepts ? dialog.accept() : dialog.dismiss()).catch(() => {});
  }

  async #pageOf(target) {
    const patience = performance.now() + TAB_PATIENCE;
    for (;;) {
      const pages = this.context.pages();
      const targets = await Promise.all(pages.map((page) => this.#targetOf(page).catch(() => undefined)));
      const at = targets.indexOf(target);
      if (at >= 0) return pages[at];
      if (performance.now() > patience) return undefined;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #targetOf(page) {
    if (!this.#targets.has(page)) {
      const session = await this.context.newCDPSession(page);
      const { targetInfo } = await session.send('Target.getTargetInfo');
      this.#targets.set(page, targetInfo.targetId);
      await session.detach();
    }
    return this.#targets.get(page);
  }
}

class Unconnected extends Error {}

/** Writes lines for the hub. Synchronously: nothing is lost when the process is killed in a loop. */
function speaker(key) {
  return (message) => {
    // What is left of broken characters is no JSON to others.
    const json = JSON.stringify(message).replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) =>
      (found === '\\\\' ? found : '\\ufffd'));
    let bytes = Buffer.from(`\n${key}${json}\n`);
    while (bytes.length > 0) {
      try {
        bytes = bytes.subarray(fs.writeSync(1, bytes));
      } catch (error) {
        if (error.code !== 'EAGAIN') return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      }
    }
  };
}

/** What the code logs, within bounds. */
function logger(say) {
  let lines = 0;
  let room = MAX_LOG;
  const log = (level, text) => {
    lines += 1;
    if (lines > MAX_LINES || room <= 0) return;
    const shown = cut(plain(text.replace(/\n$/, '')), Math.min(MAX_LINE, room));
    room -= shown.length;
    log.said += 1;
    say({ event: 'log', level, text: shown });
  };
  log.said = 0;
  log.begin = () => {
    lines = log.said = 0;
    room = MAX_LOG;
  };
  log.dropped = () => lines - log.said;
  return log;
}

/** Puts our own console and streams in the place of Node's. */
function capture(log) {
  const levels = { log: 'log', info: 'info', warn: 'warn', error: 'error', debug: 'debug', trace: 'trace', assert: 'error' };
  let level = 'log';
  const sink = (fixed) => new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      log(fixed ?? level, String(chunk));
      done();
    },
  });
  const captured = new Console({ stdout: sink(), stderr: sink() });
  for (const name of Object.keys(captured).filter((name) => typeof captured[name] === 'function')) {
    const method = captured[name];
    captured[name] = (...args) => {
      const before = level;
      level = levels[name] ?? before;
      try {
        return method.apply(captured, args);
      } finally {
        level = before;
      }
    };
  }
  globalThis.console = captured;
  for (const name of ['stdout', 'stderr']) {
    Object.defineProperty(process, name, { configurable: true, value: sink(name) });
  }
  return captured;
}

/** The package's main file, or where it was looked for. */
async function findPlaywright(configured, cwd) {
  const looked = [];
  const first = (resolve, dir) => {
    looked.push(dir);
    for (const name of PACKAGES) {
      try {
        return resolve(name);
      } catch {
        // Not here.
      }
    }
    return undefined;
  };
  /** From a directory and those above, as a program there would. */
  const from = (dir) => dir && first(createRequire(path.join(dir, 'execute.js')).resolve, dir);
  /** In a directory of packages. */
  const within = (dir) => dir && first((name) => require.resolve(path.join(dir, name)), dir);
  const itself = (dir) => {
    if (!dir) return undefined;
    try {
      const { name } = JSON.parse(fs.readFileSync(path.join(dir, 'package.json'), 'utf8'));
      return PACKAGES.includes(name) ? require.resolve(dir) : undefined;
    } catch {
      return undefined;
    }
  };
  const bin = path.dirname(process.execPath);
  const global = process.platform === 'win32' ? path.join(bin, 'node_modules') : path.join(bin, '../lib/node_modules');
  const file = itself(configured) ?? from(configured) ?? within(configured) ?? from(cwd) ?? from(os.homedir())
    ?? within(global) ?? within(await npmRoot());
  return { file, looked: [...new Set(looked)] };
}

function npmRoot() {
  const isWindows = process.platform === 'win32';
  const options = { timeout: NPM_PATIENCE, windowsHide: true, shell: isWindows };
  return new Promise((resolve) => {
    execFile('npm', ['root', '-g'], options, (error, stdout) => resolve(error ? undefined : stdout.trim()));
  });
}

function versionOf(file) {
  for (let dir = path.dirname(file); dir !== path.dirname(dir); dir = path.dirname(dir)) {
    try {
      const { name, version } = JSON.parse(fs.readFileSync(path.join(dir, 'package.json'), 'utf8'));
      if (PACKAGES.includes(name)) return `${name} ${version}`;
    } catch {
      // Further up.
    }
  }
  return 'playwright';
}

/** From code to an async function: an expression, statements, or statements whose last is an expression. */
function compile(code) {
  const trimmed = code.trimEnd().replace(/(\s*;)+$/, '');
  const expression = trimmed.trim() && attempt(`(\n${trimmed}\n)`);
  if (expression) return { script: expression, isExpression: true };
  const last = withReturn(trimmed);
  if (last) return { script: last, isExpression: false };
  return { script: program(`{{\n${code}\n}}`), isExpression: false };
}

// In a block of its own, so that code may have a `page` or `context` of its own.
function withReturn(code) {
  const statements = (text) => attempt(`{{\n${text}\n}}`);
  const whole = statements(code);
  if (!whole || code.length > 100_000) return undefined;
  const lastLine = code.lastIndexOf('\n') + 1;
  let tries = 0;
  for (let at = code.length - 1; at > 0 && tries < 100; at -= 1) {
    // A `;` may be within a comment of its line; what is within texts does not parse.
    const isEnd = code[at] === '\n' || (code[at] === ';' && at > lastLine && !code.slice(lastLine, at).includes('//'));
    if (!isEnd) continue;
    tries += 1;
    const [head, tail] = [code.slice(0, at + 1), code.slice(at + 1)];
    // What is empty, could be a block, or could go on with the line before.
    if (/^\s*(\{|$)/.test(tail) || (!/;\s*$/.test(head) && /^\s*[[(`+\-/*]/.test(tail))) continue;
    if (!attempt(`(\n${tail}\n)`) || !statements(head)) continue;
    return statements(`${head}return (${tail}\n)`);
  }
  return undefined;
}

function attempt(body) {
  try {
    return program(body);
  } catch {
    return undefined;
  }
}

/** `body` has one line before the code. */
function program(body) {
  return new vm.Script(`(async (${SCOPE}) => ${body})`, {
    filename: FILE,
    lineOffset: -1,
    // Node before 20.12 has no `import()` here; `require` works there, too.
    importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

/** A value as it is sent: as JSON where that says it all, else in words; an image as one. */
function describe(value) {
  if (value === undefined) return {};
  const mime = imageOf(value);
  if (mime) return { text: `${mime}, ${value.length} bytes`, image: { mime, data: Buffer.from(value).toString('base64') } };
  const json = isData(value) ? JSON.stringify(value) : undefined;
  if (json !== undefined && json.length <= MAX_RESULT) return { value };
  const text = plain(typeof value === 'string' ? value : json ?? inspect(value));
  return { text: cut(text, MAX_RESULT), cut: text.length > MAX_RESULT };
}

function imageOf(value) {
  if (!util.types.isUint8Array(value) || value.length > MAX_IMAGE) return undefined;
  if (value[0] === 0x89 && value[1] === 0x50 && value[2] === 0x4e && value[3] === 0x47) return 'image/png';
  if (value[0] === 0xff && value[1] === 0xd8 && value[2] === 0xff) return 'image/jpeg';
  return undefined;
}

/** Whether JSON can hold it without loss. */
function isData(value) {
  const above = new Set();
  let members = 0;
  const visit = (value) => {
    members += 1;
    if (members > MAX_MEMBERS) return false;
    if (value === null || value === undefined) return true;
    if (typeof value === 'number') return Number.isFinite(value);
    if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean';
    if (util.types.isDate(value)) return true;
    const prototype = Object.getPrototypeOf(value);
    const isPlain = Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null;
    if (!isPlain || above.has(value)) return false;
    above.add(value);
    const all = Object.values(value).every(visit);
    above.delete(value);
    return all;
  };
  return visit(value);
}

function inspect(value) {
  // Playwright's own objects hold the whole connection.
  if (typeof value === 'object' && value !== null && '_guid' in value) {
    const url = typeof value.url === 'function' ? ` ${value.url()}` : '';
    return `[${value.constructor.name.replace(/^_/, '')}${url}]`;
  }
  return util.inspect(value, { depth: 4, maxArrayLength: 1000, maxStringLength: 100_000, breakLength: 100 });
}

/** An error with the lines of the stack that are in the code. */
function explain(error) {
  if (!util.types.isNativeError(error)) return { message: `threw ${inspect(error)}` };
  const { name, stack = '' } = error;
  const isSyntax = name === 'SyntaxError' && stack.startsWith(`${FILE}:`);
  if (isSyntax) {
    // `FILE:LINE`, the line, a mark below it, an empty line, the message, Node's own frames.
    const shown = stack.slice(0, stack.indexOf('\n    at ')).replaceAll(FILE, 'code').trim();
    const hint = /import statement|Unexpected token 'export'/.test(error.message) ? ' Use `await import(...)`.' : '';
    return { message: `${name}: ${error.message}${hint}`, stack: cut(shown, MAX_LINE), is_syntax: true };
  }
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line) && line.includes(`${FILE}:`));
  const cause = error.cause === undefined ? '' : `\ncaused by: ${explain(error.cause).message}`;
  return {
    message: cut(plain(`${name}: ${error.message}${cause}`), MAX_LINE),
    stack: frames.map((line) => line.trim().replaceAll(FILE, 'code')).join('\n'),
  };
}

const plain = (text) => util.stripVTControlCharacters(text);
const cut = (text, max) => (text.length <= max ? text : `${text.slice(0, max)}…`);
