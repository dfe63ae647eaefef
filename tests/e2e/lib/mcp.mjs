// An MCP server of npm, run under `bowline wrap` and driven over stdio as an agent would.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
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

/** `bowline mcp` as a host runs it. Everything its client hears beside answers is kept in `heard`. */
export async function startBowlineMcp(home, args = [], { name = 'bowline-e2e', env = {} } = {}) {
  const transport = new StdioClientTransport({
    command: BOWLINE, args: ['mcp', ...args], env: { ...home.env, ...env }, cwd: home.root, stderr: 'pipe',
  });
  return connectMcp(transport, name);
}

/** A client of MCP over any transport. */
export async function connectMcp(transport, name = 'bowline-e2e') {
  const heard = { listChanged: 0, log: '' };
  const client = new Client({ name, version: '1.0.0' });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.listChanged++);
  transport.stderr?.on('data', (chunk) => (heard.log += chunk));
  try {
    await client.connect(transport);
  } catch (error) {
    throw new Error(`${error.message}\n${heard.log}`);
  }
  const call = (tool, input = {}, options) => client.callTool({ name: tool, arguments: input }, undefined, options);
  return {
    client,
    heard,
    transport,
    get pid() { return transport.pid; },
    call,
    /** The structured result of a tool that must succeed. */
    async data(tool, input, options) {
      const { content, isError, structuredContent } = await call(tool, input, options);
      if (isError) throw new Error(`${tool}: ${content[0].text}`);
      return structuredContent;
    },
    /** The error of a tool that must fail. */
    async problem(tool, input, options) {
      const { content, isError, structuredContent } = await call(tool, input, options);
      if (!isError) throw new Error(`${tool} succeeded: ${content[0].text}`);
      return { ...structuredContent.error, text: content[0].text };
    },
    tools: async () => (await client.listTools()).tools,
    close: () => client.close(),
  };
}
