// A plain Chromium on its own port: the reference that Bowline is compared with, and the
// "somebody else's browser" of the attach tests.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CHROMIUM, QUIET_FLAGS } from './env.mjs';
import { browserWs } from './http.mjs';
import { alive, endAllOf, gone, signal } from './processes.mjs';
import { until } from './until.mjs';

export class Chromium {
  direct = true;

  static async start(options) {
    const chromium = new Chromium();
    chromium.root = await mkdtemp(join(tmpdir(), 'bowline-e2e-chromium-'));
    await chromium.#launch(options ?? {});
    return chromium;
  }

  async #launch({ port = 0, flags = [], profile = join(this.root, 'profile') }) {
    this.profile = profile;
    const portFile = join(profile, 'DevToolsActivePort');
    await rm(portFile, { force: true });
    const root = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    this.child = spawn(
      CHROMIUM,
      [
        '--headless=new', '--no-first-run', '--no-default-browser-check',
        `--remote-debugging-port=${port}`, `--user-data-dir=${profile}`,
        ...root, ...QUIET_FLAGS, ...flags, 'about:blank',
      ],
      { stdio: 'ignore', env: { ...process.env, HOME: this.root, TMPDIR: this.root } },
    );
    this.pid = this.child.pid;
    // A chosen port is told in a file; a given one is only answered on.
    this.port = port || await until('DevToolsActivePort of a plain Chromium', async () => {
      if (!alive(this.pid)) throw new Error('Chromium has exited');
      const lines = (await readFile(portFile, 'utf8')).split('\n');
      return lines.length > 1 && Number(lines[0]);
    }, 20_000);
    this.endpoint = `http://127.0.0.1:${this.port}`;
    this.ws = await until('a plain Chromium answers', () => browserWs(this.endpoint), 20_000);
  }

  /** A new browser process on the same port; the profile starts afresh. */
  async restart() {
    await this.#end();
    await rm(this.profile, { recursive: true, force: true });
    await this.#launch({ port: this.port });
  }

  async #end() {
    signal(this.pid, 'SIGKILL');
    await gone(this.pid);
    await endAllOf(this.root);
  }

  async stop() {
    await this.#end();
    await rm(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}
