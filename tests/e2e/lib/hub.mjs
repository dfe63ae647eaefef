// A hub in directories of its own. `Home` is the user as Bowline sees him (HOME, XDG_*, TMPDIR
// below one temporary directory); a home can run commands and serve a hub, one after another.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { BOWLINE, CHROMIUM, DIRECT, QUIET_FLAGS } from './env.mjs';
import { Chromium } from './chromium.mjs';
import { browsersOf, endAllOf, processesOf, signal } from './processes.mjs';
import { browserWs } from './http.mjs';
import { Rest } from './rest.mjs';
import { within } from './until.mjs';

export class Home {
  static async make(env = {}) {
    const home = new Home();
    home.root = await mkdtemp(join(tmpdir(), 'bowline-e2e-'));
    const dir = (name) => join(home.root, name);
    home.runtime = dir('run');
    home.tmp = dir('tmp');
    home.data = dir('data');
    home.state = dir('state');
    home.config = dir('config');
    for (const path of [home.runtime, home.tmp, home.data, home.state, home.config]) {
      await mkdir(path, { mode: 0o700 });
    }
    const inherited = Object.entries(process.env).filter(([key]) => !key.startsWith('BOWLINE_'));
    home.env = {
      ...Object.fromEntries(inherited),
      HOME: home.root,
      XDG_RUNTIME_DIR: home.runtime,
      XDG_CONFIG_HOME: home.config,
      XDG_DATA_HOME: home.data,
      XDG_STATE_HOME: home.state,
      TMPDIR: home.tmp,
      BOWLINE_PORT: '0',
      BOWLINE_IDLE_TIMEOUT: '0',
      BOWLINE_BROWSER: CHROMIUM,
      BOWLINE_ARGS: QUIET_FLAGS.join(' '),
      ...env,
    };
    return home;
  }

  spawn(args, { env = {}, stdio = ['pipe', 'pipe', 'pipe'], cwd } = {}) {
    return spawn(BOWLINE, args, { env: { ...this.env, ...env }, stdio, cwd });
  }

  /** Runs a command to its end. */
  async run(args, { env, input = '', ms = 30_000 } = {}) {
    const child = this.spawn(args, { env });
    const out = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text) => (out.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (out.stderr += text));
    child.stdin.on('error', () => {}).end(input);
    const done = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, sig) => resolve({ code, signal: sig, ...out }));
    });
    try {
      return await within(ms, `bowline ${args.join(' ')}`, done);
    } catch (error) {
      signal(child.pid, 'SIGKILL');
      error.message += `\nstdout: ${out.stdout}\nstderr: ${out.stderr}`;
      throw error;
    }
  }

  /** The `data` of a command that must succeed. */
  async json(...args) {
    const { code, stdout, stderr } = await this.run(withJson(args));
    const answer = parse(stdout, stderr);
    if (code !== 0 || !answer.success) {
      throw new Error(`bowline ${args.join(' ')}: exit ${code}\n${stdout}\n${stderr}`);
    }
    return answer.data;
  }

  /** The `error` of a command that must fail, with its exit code and stderr. */
  async failure(...args) {
    const { code, stdout, stderr } = await this.run(withJson(args));
    const answer = parse(stdout, stderr);
    if (code === 0 || answer.success) throw new Error(`bowline ${args.join(' ')} succeeded: ${stdout}`);
    return { ...answer.error, exit: code, stderr };
  }

  async status(name = 'default') {
    const status = await this.json('status');
    return { ...status, browser: status.browsers.find((browser) => browser.name === name) };
  }

  async serve({ env, args = [], ms = 10_000, cwd } = {}) {
    const child = this.spawn(['serve', '--json', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'], cwd });
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (log = (log + text).slice(-20_000)));
    const exited = new Promise((resolve) => {
      child.on('error', (error) => resolve({ error }));
      child.on('exit', (code, sig) => resolve({ code, signal: sig }));
    });
    const lines = createInterface({ input: child.stdout });
    const ready = new Promise((resolve) => lines.once('line', resolve));
    const first = await within(ms, `bowline serve ready\n${log}`, Promise.race([ready, exited]));
    if (typeof first !== 'string') {
      throw new Error(`bowline serve ended before it was ready: ${JSON.stringify(first)}\n${log}`);
    }
    const { port, pid, endpoint } = JSON.parse(first);
    return new Hub(this, { child, exited, port, pid, endpoint, log: () => log });
  }

  processes = () => processesOf(this.root);
  browsers = () => browsersOf(this.root);

  async cleanup() {
    await endAllOf(this.root);
    await rm(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

export class Hub {
  direct = false;

  constructor(home, fields) {
    Object.assign(this, fields, { home });
  }

  async restart() {
    await this.home.json('restart');
  }

  kill() {
    signal(this.pid, 'SIGKILL');
    return within(5_000, 'the killed hub gone', this.exited);
  }

  /** The polite way: SIGTERM, then the hub's own cleaning up. */
  async end(ms = 10_000) {
    signal(this.pid, 'SIGTERM');
    return within(ms, 'the hub gone after SIGTERM', this.exited);
  }

  /** Ends the hub and whatever is left of its home. */
  async stop() {
    try {
      await this.end();
    } finally {
      await this.home.cleanup();
    }
  }
}

const withJson = (args) => {
  const split = args.indexOf('--');
  return split < 0 ? [...args, '--json'] : [...args.slice(0, split), '--json', ...args.slice(split)];
};

function parse(stdout, stderr) {
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`not JSON on stdout: ${stdout}\nstderr: ${stderr}`);
  }
}

/** What the client tests run against: a hub in a fresh home, or a plain Chromium. */
export const startTarget = ({ env } = {}) => (DIRECT ? Chromium.start() : serveIn(env, async (hub) => {
  hub.ws = await browserWs(hub.endpoint);
}));

/** A hub whose browser is a Firefox that it has launched. Chromium's flags are not for it. */
export const startFirefox = ({ env } = {}) => serveIn({ BOWLINE_ARGS: '', ...env }, async (hub) => {
  hub.name = 'firefox';
  hub.session = `${hub.endpoint.replace('http:', 'ws:')}/b/firefox/session`;
  await (await Rest.of(hub)).post('/browsers/firefox/launch', {});
});

async function serveIn(env, begin) {
  const home = await Home.make(env);
  try {
    const hub = await home.serve();
    await begin(hub);
    return hub;
  } catch (error) {
    await home.cleanup();
    throw error;
  }
}
