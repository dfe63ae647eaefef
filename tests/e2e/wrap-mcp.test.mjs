// Published MCP servers under `bowline wrap`: they drive a page before and after a restart of the browser.
import assert from 'node:assert/strict';
import { fixture } from './lib/fixture.mjs';
import { SERVERS, startMcp } from './lib/mcp.mjs';
import { gone } from './lib/processes.mjs';
import { test } from './lib/test.mjs';

const at = fixture();

test('@playwright/mcp drives a page, before and after a restart', { timeout: 60_000 }, async () => {
  const mcp = await startMcp(SERVERS['@playwright/mcp'], at.target);
  try {
    const reads = async (path, heading) => {
      await mcp.call('browser_navigate', { url: at.site.url(path) });
      assert.match(await mcp.call('browser_snapshot'), new RegExp(`heading "${heading}"`));
    };
    await reads('/two', 'Two');
    await mcp.call('browser_tabs', { action: 'new' });
    await reads('/three', 'Three');
    await at.target.restart();
    await reads('/', 'Home');
    assert.match(await mcp.call('browser_evaluate', { function: '() => location.pathname + 6 * 7' }), /\/42/);
  } finally {
    await mcp.close();
  }
  await gone(mcp.pid);
});

test('chrome-devtools-mcp drives a page, before and after a restart', { timeout: 60_000 }, async () => {
  const mcp = await startMcp(SERVERS['chrome-devtools-mcp'], at.target);
  try {
    const reads = async (path, heading) => {
      const pageId = Number(/^(\d+): .*\[selected\]/m.exec(await mcp.call('list_pages'))[1]);
      await mcp.call('navigate_page', { pageId, type: 'url', url: at.site.url(path) });
      assert.match(await mcp.call('take_snapshot', { pageId }), new RegExp(`heading "${heading}"`));
      return pageId;
    };
    await reads('/two', 'Two');
    await at.target.restart();
    const pageId = await reads('/', 'Home');
    assert.match(await mcp.call('evaluate_script', { pageId, function: '() => 6 * 7' }), /42/);
  } finally {
    await mcp.close();
  }
  await gone(mcp.pid);
});
