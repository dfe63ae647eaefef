// An MCP server of npm, run under `bowline wrap` and driven over stdio as an agent would.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { BOWLINE } from './env.mjs';

const require = createRequire(import.meta.url);
const packageFile = (name, file) => join(dirname(require.resolve(`${name}/package.json`)), file);

export const SERVERS = {
  '@playwright/mcp': [packageFile('@playwright/mcp', 'cli.js'), '--cdp-endpoint', '{cdp_endpoint}'],
  'chrome-devtools-mcp': [
    packageFile('chrome-devtools-mcp', 'build/src/bin/chrome-devtools-mcp.js'),
    '--browserUrl', '{cdp_endpoint}', '--no-usage-statistics', '--no-performance-crux',
  ],
};

/** Starts the server for `target`: under wrap, or with the placeholder filled in for a plain Chromium. */
export async function startMcp(args, target) {
  const quiet = { CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS: '1', CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS: '1' };
  const run = target.direct
    ? { command: process.execPath, args: args.map((a) => a.replace('{cdp_endpoint}', target.endpoint)), env: { ...process.env, ...quiet } }
    : { command: BOWLINE, args: ['wrap', '--', process.execPath, ...args], env: { ...target.home.env, ...quiet } };
  const transport = new StdioClientTransport({ ...run, cwd: target.direct ? target.root : target.home.root, stderr: 'pipe' });
  const client = new Client({ name: 'bowline-e2e', version: '1.0.0' });
  let log = '';
  transport.stderr?.on('data', (chunk) => (log += chunk));
  try {
    await client.connect(transport);
  } catch (error) {
    throw new Error(`${error.message}\n${log}`);
  }
  return {
    pid: transport.pid,
    /** The text of a tool's answer; an error of the tool is an error here. */
    async call(name, args = {}) {
      const { content, isError } = await client.callTool({ name, arguments: args });
      const text = content.map((part) => part.text ?? '').join('\n');
      if (isError) throw new Error(`${name}: ${text}`);
      return text;
    },
    tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    close: () => client.close(),
  };
}
