// `/mcp`: the same tools over streamable HTTP, behind the hub's guard and token.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { connectMcp, startBowlineMcp } from './lib/mcp.mjs';
import { fixture } from './lib/fixture.mjs';
import { test } from './lib/test.mjs';
import { until } from './lib/until.mjs';

const open = [];
const at = fixture({
  open: (at) => {
    at.token = readFileSync(`${at.target.home.state}/bowline/token`, 'utf8').trim();
  },
  close: async () => {
    for (const client of open) await client.close().catch(() => {});
  },
});

const connect = async (path, headers = {}) => {
  const transport = new StreamableHTTPClientTransport(new URL(path, at.target.endpoint), { requestInit: { headers } });
  const client = await connectMcp(transport);
  open.push(client);
  return client;
};
const bearer = () => ({ authorization: `Bearer ${at.token}` });
const INITIALIZE = {
  jsonrpc: '2.0', id: 1, method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};
const post = (path, headers = {}, body = INITIALIZE) => fetch(new URL(path, at.target.endpoint), {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
  body: JSON.stringify(body),
});

test('the token opens it, as a header or in the path, and nothing else does', async () => {
  for (const [path, headers] of [['/mcp', bearer()], [`/t/${at.token}/mcp`, {}], [`/mcp?token=${at.token}`, {}]]) {
    const mcp = await connect(path, headers);
    assert.ok((await mcp.tools()).some((tool) => tool.name === 'browser_navigate'), path);
  }
  assert.equal((await post('/mcp')).status, 401);
  assert.equal((await post('/mcp', { authorization: 'Bearer nonsense' })).status, 401);
  assert.equal((await post('/t/nonsense/mcp')).status, 401);
  assert.equal((await post('/mcp', { ...bearer(), origin: 'https://evil.test' })).status, 403);
  assert.equal((await fetch(new URL('/mcp', at.target.endpoint), { method: 'OPTIONS' })).status, 401);
});

test('it is the same server as over stdio', async () => {
  const http = await connect('/mcp', bearer());
  const stdio = await startBowlineMcp(at.target.home);
  open.push(stdio);
  assert.deepEqual(await http.tools(), await stdio.tools());
  assert.deepEqual(http.client.getServerVersion(), stdio.client.getServerVersion());
  assert.equal(http.client.getInstructions(), stdio.client.getInstructions());
  assert.equal((await http.data('browser_navigate', { url: at.site.url('/two') })).title, 'two');
  assert.equal((await stdio.data('browser_navigate', { url: at.site.url('/three') })).title, 'three');
  assert.equal((await http.data('browser_evaluate', { expression: 'document.title' })).value, 'two');
  const owners = (await http.data('browser_tabs')).tabs.map((tab) => tab.owner).filter(Boolean);
  assert.equal(new Set(owners).size, 2, 'each has a tab of its own');
});

test('sets are chosen in the address or a header, and switched on later', async () => {
  const off = async (mcp) => (await mcp.tools()).at(-1).inputSchema.properties.sets?.items.enum;
  assert.deepEqual(await off(await connect('/mcp?sets=network,storage', bearer())), ['emulation', 'devtools', 'lifecycle']);
  const mcp = await connect('/mcp', { ...bearer(), 'x-bowline-sets': 'devtools' });
  assert.deepEqual(await off(mcp), ['network', 'emulation', 'storage', 'lifecycle']);
  await mcp.data('browser_tool_sets', { sets: ['network'] });
  await until('tools/list_changed', () => mcp.heard.listChanged === 1);
  assert.deepEqual(await off(mcp), ['emulation', 'storage', 'lifecycle']);
});

test('a cancelled call stops, and so does one whose session is ended', async () => {
  const mcp = await connect('/mcp?session=stopper', bearer());
  await mcp.data('browser_navigate', { url: at.site.url('/two') });
  const controller = new AbortController();
  const asked = mcp.call('browser_evaluate', { expression: 'await new Promise(() => {})', timeout: 60_000 }, { signal: controller.signal });
  controller.abort('enough');
  await assert.rejects(asked, /enough|aborted/i);
  assert.equal((await mcp.data('browser_evaluate', { expression: '1 + 1' })).value, 2);
  await mcp.transport.terminateSession();
});

test('console and network are resources here too', async () => {
  const mcp = await connect('/mcp', bearer());
  const { id } = await mcp.data('browser_navigate', { url: at.site.url('/console') });
  const { contents } = await mcp.client.readResource({ uri: `bowline://default/${id}/console` });
  assert.match(contents[0].text, /error broken/);
});

/** A client of 2026-07-28: it has no session, and every request stands for itself. */
function modern(client, path = '/mcp') {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: client, version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  let last = 0;
  const ask = async (method, params, headers = {}) => {
    const body = { jsonrpc: '2.0', id: (last += 1), method, params: { ...params, _meta: meta } };
    const response = await post(path, { ...bearer(), 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...headers }, body);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const data = text.startsWith('{') ? text : text.split('\n').filter((line) => line.startsWith('data: {')).at(-1).slice(6);
    return JSON.parse(data).result;
  };
  return {
    call: (name, args) => ask('tools/call', { name, arguments: args }, { 'mcp-name': name }),
    tools: async () => (await ask('tools/list', {})).tools.map((tool) => tool.name),
  };
}

test('a client without sessions (2026-07-28) is known by its name', async () => {
  const { call } = modern('modern');
  const went = await call('browser_navigate', { url: at.site.url('/three') });
  assert.equal(went.structuredContent.title, 'three');
  const here = await call('browser_evaluate', { expression: 'document.title' });
  assert.equal(here.structuredContent.value, 'three', 'its tab is still its own');
});

test('sets that a client without sessions has switched on stay on under its name, and under no other', async () => {
  const one = modern('switcher', '/mcp?session=switcher');
  const before = await one.tools();
  const { structuredContent } = await one.call('browser_tool_sets', { sets: ['network'] });
  const fresh = structuredContent.tools;
  assert.ok(fresh.length > 0 && fresh.every((name) => !before.includes(name)));
  const now = await one.tools();
  assert.ok(fresh.every((name) => now.includes(name)));
  assert.notEqual((await one.call(fresh[0], {})).structuredContent.error?.code, 'tool_off');
  assert.deepEqual(await modern('switcher', '/mcp?session=another').tools(), before);
  assert.equal((await one.call('browser_tool_sets', { sets: ['playwright'] })).structuredContent.error.code, 'forbidden');
});
