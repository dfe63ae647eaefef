// A real Firefox, headless and in a profile of its own, with the extension. Its own remote end installs it and looks at it from outside.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bidi } from '../../e2e/lib/bidi.mjs';
import { until, within } from '../../e2e/lib/until.mjs';
import { makePackage } from './package.mjs';

const NAMES = ['firefox-esr', 'firefox'];

export class Firefox {
  static async start({ preset, prefs = {} } = {}) {
    const browser = new Firefox();
    browser.root = await mkdtemp(join(tmpdir(), 'bowline-firefox-'));
    browser.profile = join(browser.root, 'profile');
    await mkdir(browser.profile);
    // As a person's: the remote end would else switch off what an extension has to live with, as the blocking of popups.
    const lines = Object.entries({ 'remote.prefs.recommended': false, 'browser.shell.checkDefaultBrowser': false, 'datareporting.policy.dataSubmissionEnabled': false, 'browser.download.useDownloadDir': true, 'browser.download.folderList': 2, 'browser.download.dir': browser.root, ...prefs })
      .map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`);
    await writeFile(join(browser.profile, 'user.js'), lines.join('\n'));
    const path = NAMES.flatMap((name) => process.env.PATH.split(':').map((directory) => join(directory, name))).find((file) => existsSync(file));
    browser.process = spawn(path, ['--headless', '--profile', browser.profile, '--remote-debugging-port=0', '--no-remote', '--new-instance', '--remote-allow-system-access'],
      { stdio: 'ignore', env: { ...process.env, HOME: browser.root, MOZ_CRASHREPORTER_DISABLE: '1' } });
    browser.exited = new Promise((resolve) => browser.process.on('exit', resolve));
    const file = join(browser.profile, 'WebDriverBiDiServer.json');
    const { ws_host: host, ws_port: port } = await until('Firefox is ready', async () => JSON.parse(await readFile(file, 'utf8')), 60_000);
    browser.bidi = await Bidi.connect(`ws://${host}:${port}/session`);
    await browser.bidi.send('session.new', { capabilities: { alwaysMatch: { acceptInsecureCerts: true, unhandledPromptBehavior: { default: 'ignore' } } } });
    browser.package = await makePackage('firefox', join(browser.root, 'extension'), preset);
    const { extension } = await browser.bidi.send('webExtension.install', { extensionData: { type: 'path', path: browser.package } });
    browser.extension = extension;
    return browser;
  }

  /** Runs in Firefox's own window, as only a test may. */
  async inWindow(expression) {
    const { contexts: [{ context }] } = await this.bidi.send('browsingContext.getTree', { 'moz:scope': 'chrome' });
    return this.bidi.evaluate(expression, context);
  }

  /** The popup as a page of its own: headless, there is no toolbar to press. */
  async popup(origin) {
    const url = `${origin}/popup/popup.html`;
    await this.inWindow(`void gBrowser.addTab(${JSON.stringify(url)}, { triggeringPrincipal: Services.scriptSecurityManager.getSystemPrincipal() })`);
    const context = await until('the popup is a tab', async () =>
      (await this.bidi.send('browsingContext.getTree', {})).contexts.find((one) => one.url === url)?.context);
    const evaluate = (expression) => this.bidi.evaluate(expression, context);
    await until('the popup shows something', () => evaluate('document.body?.dataset.ready'));
    return {
      context,
      evaluate,
      text: (selector) => evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`),
      click: (selector) => evaluate(`void document.querySelector(${JSON.stringify(selector)}).click()`),
      screenshot: async (path) => {
        await this.bidi.send('browsingContext.setViewport', { context, viewport: { width: 360, height: 600 } });
        const { data } = await this.bidi.send('browsingContext.captureScreenshot', { context });
        await writeFile(path, Buffer.from(data, 'base64'));
      },
      close: () => this.bidi.send('browsingContext.close', { context }),
    };
  }

  async stop() {
    await within(5_000, 'Firefox closes', this.bidi.send('browser.close')).catch(() => {});
    await within(10_000, 'Firefox is gone', this.exited).catch(() => this.process.kill('SIGKILL'));
    await rm(this.root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}
