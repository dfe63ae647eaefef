// What needs a permission that the person gives: frames of other extensions, and pairing with one click.
import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { Browser, EXTENSION_ID, grantAll } from './lib/browser.mjs';
import { FakeHub, newKey } from './lib/hub.mjs';
import { Site } from '../e2e/lib/site.mjs';
import { test } from '../e2e/lib/test.mjs';
import { until } from '../e2e/lib/until.mjs';

const key = newKey();
let root;
let hub;
let site;
let browser;

/** Another extension, which puts a frame of its own into every page, behind a closed shadow root. */
async function otherExtension() {
  const other = join(root, 'other');
  await mkdir(other);
  await writeFile(join(other, 'manifest.json'), JSON.stringify({
    manifest_version: 3, name: 'Other', version: '1',
    content_scripts: [{ matches: ['<all_urls>'], js: ['content.js'] }],
    web_accessible_resources: [{ resources: ['frame.html'], matches: ['<all_urls>'] }],
  }));
  await writeFile(join(other, 'frame.html'), 'a frame');
  await writeFile(join(other, 'content.js'), `
    const frame = Object.assign(document.createElement('iframe'), { src: chrome.runtime.getURL('frame.html') });
    frame.onload = () => { document.title = 'framed'; };
    document.body.append(document.createElement('div'));
    document.body.lastChild.attachShadow({ mode: 'closed' }).append(frame);`);
  return other;
}

/** The native host, as the hub registers it: answers each message with the key. */
async function registerHost(profile) {
  const hosts = join(profile, 'NativeMessagingHosts');
  await mkdir(hosts, { recursive: true });
  const path = join(root, 'host');
  await writeFile(`${path}.mjs`, `
    process.stdin.once('data', (data) => {
      const { method, instance, browser } = JSON.parse(data.subarray(4));
      const fine = method === 'pair' && /^[0-9a-f]{32}$/.test(instance) && browser.version;
      const answer = Buffer.from(JSON.stringify(fine ? { name: 'chrome', key: '${key}', port: ${hub.port} } : { error: 'not understood' }));
      const head = Buffer.alloc(4);
      head.writeUInt32LE(answer.length);
      process.stdout.write(Buffer.concat([head, answer]));
    });`);
  await writeFile(path, `#!/bin/sh\nexec '${process.execPath}' '${path}.mjs'\n`);
  await chmod(path, 0o755);
  await writeFile(join(hosts, 'dev.bowline.hub.json'), JSON.stringify({
    name: 'dev.bowline.hub', description: 'Bowline', path, type: 'stdio', allowed_origins: [`chrome-extension://${EXTENSION_ID}/`],
  }));
}

before(async () => {
  root = await mkdtemp(join(tmpdir(), 'granted-'));
  hub = await FakeHub.start({ key });
  site = await Site.start();
  browser = await Browser.start({
    // Nothing answers there: only the native host knows where the hub is.
    preset: { hub: 'http://127.0.0.1:9' },
    beside: [await otherExtension()],
    change: async (copy, profile) => { await grantAll(copy); await registerHost(profile); },
  });
});

after(async () => {
  await browser?.stop();
  await site?.stop();
  await hub?.stop();
  await rm(root, { recursive: true, force: true });
});

test('one click pairs through native messaging', async () => {
  const popup = await browser.popup();
  await until('the button', () => popup.evaluate('!document.querySelector("#native").hidden'));
  await popup.click('#native');
  await until('paired', async () => /Connected as chrome/.test(await popup.text('#status')));
  await popup.close();
});

test('frames of another extension keep the debugger out until they are taken from the page', async () => {
  const link = await hub.ready();
  const { tab: { tabId } } = await link.ask('createTab', { url: site.origin });
  await link.message('tabUpdated', (params) => params.tabId === tabId && params.title === 'framed');
  await assert.rejects(link.ask('attachTab', { tabId, sessionId: 'a' }), /different extension/);
  assert.deepEqual(await link.ask('freeFrames', { tabId }), { removed: 1 });
  await link.ask('attachTab', { tabId, sessionId: 'a' });
});
