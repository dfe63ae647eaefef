// A person's own browser: published MCP servers drive it as they would drive any other.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fixture } from './lib/fixture.mjs';
import { SERVERS, startMcp } from './lib/mcp.mjs';
import { Own } from './lib/own.mjs';
import { gone } from './lib/processes.mjs';
import { test } from './lib/test.mjs';

let own;
const at = fixture({
  target: false,
  async open() {
    own = await Own.start();
  },
  close: () => own?.stop(),
});

async function server(t, name) {
  const mcp = await startMcp(SERVERS[name], { direct: true, endpoint: own.endpoint, root: own.root });
  t.after(async () => {
    await mcp.close();
    await gone(mcp.pid);
  });
  return mcp;
}

const SAY = '() => { console.log("said"); return fetch("/api").then((r) => r.text()); }';

async function playwrightMcp(mcp, query) {
  await mcp.call('browser_tabs', { action: 'new' });
  await mcp.call('browser_navigate', { url: at.site.url(`/frame?${query}`) });
  const [, ref] = /button "hit" \[ref=(\w+)\]/.exec(await mcp.call('browser_snapshot'));
  await mcp.call('browser_click', { element: 'hit', target: ref });
  assert.match(await mcp.call('browser_evaluate', { function: '() => document.title' }), /"hit 1"/);
  assert.match(await mcp.call('browser_evaluate', { function: SAY }), /from.*server/);
  assert.match(await mcp.call('browser_console_messages', { level: 'info' }), /\[LOG\] said/);
  assert.match(await mcp.call('browser_network_requests', { static: true }), /\[GET\] .*\/api => \[200\]/);
  const [, path] = /\((\S+\.png)\)/.exec(await mcp.call('browser_take_screenshot'));
  assert.equal((await readFile(join(own.root, path))).subarray(1, 4).toString(), 'PNG');
  assert.match(await mcp.call('browser_tabs', { action: 'list' }), new RegExp(`\\(current\\).*/frame\\?${query}`));
}

async function devtoolsMcp(mcp, query) {
  const pages = await mcp.call('new_page', { url: at.site.url(`/frame?${query}`) });
  const pageId = Number(/^(\d+): .*\[selected\]/m.exec(pages)[1]);
  const [, uid] = /uid=(\w+) button "hit"/.exec(await mcp.call('take_snapshot', { pageId }));
  await mcp.call('click', { pageId, uid });
  assert.match(await mcp.call('evaluate_script', { pageId, function: '() => document.title' }), /"hit 1"/);
  assert.match(await mcp.call('evaluate_script', { pageId, function: SAY }), /from.*server/);
  assert.match(await mcp.call('list_console_messages', { pageId }), /\[log\] said/);
  assert.match(await mcp.call('list_network_requests', { pageId }), /GET .*\/api \[200\]/);
  const path = join(own.root, `${query}.png`);
  await mcp.call('take_screenshot', { pageId, filePath: path });
  assert.equal((await readFile(path)).subarray(1, 4).toString(), 'PNG');
  await mcp.call('navigate_page', { pageId, type: 'url', url: at.site.url('/three') });
  assert.match(await mcp.call('take_snapshot', { pageId }), /heading "Three"/);
}

test('@playwright/mcp navigates, reads, clicks, evaluates, and sees console, network and screen', async (t) => {
  await playwrightMcp(await server(t, '@playwright/mcp'), 'playwright');
});

test('chrome-devtools-mcp navigates, reads, clicks, evaluates, and sees console, network and screen', async (t) => {
  await devtoolsMcp(await server(t, 'chrome-devtools-mcp'), 'devtools');
});

test('both work at once, and on a tab that the person had open before', { timeout: 60_000 }, async (t) => {
  await own.open(at.site.url('/three?open'));
  const [playwright, devtools] = [await server(t, '@playwright/mcp'), await server(t, 'chrome-devtools-mcp')];
  await Promise.all([playwrightMcp(playwright, 'together1'), devtoolsMcp(devtools, 'together2')]);
  const index = Number(/^- (\d+): .*\/three\?open/m.exec(await playwright.call('browser_tabs', { action: 'list' }))[1]);
  await playwright.call('browser_tabs', { action: 'select', index });
  assert.match(await playwright.call('browser_snapshot'), /heading "Three"/);
  const pageId = Number(/^(\d+): .*\/three\?open/m.exec(await devtools.call('list_pages'))[1]);
  assert.match(await devtools.call('take_snapshot', { pageId }), /heading "Three"/);
});
