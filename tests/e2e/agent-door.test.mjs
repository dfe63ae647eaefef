// `/agent`: many agents at once over a WebSocket, and ids that are safe to send again.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import WebSocket from 'ws';
import { Agent } from './lib/agent.mjs';
import { fixture } from './lib/fixture.mjs';
import { startTarget } from './lib/hub.mjs';
import { test } from './lib/test.mjs';
import { pooled, until, within } from './lib/until.mjs';

const open = new Set();
const at = fixture({
  open: (at) => {
    at.token = tokenOf(at.target);
  },
  close: () => {
    for (const socket of open) socket.terminate();
  },
});

const url = (path = '/agent', hub = at.target) => hub.endpoint.replace('http', 'ws') + path;
const tokenOf = (hub) => readFileSync(`${hub.home.state}/bowline/token`, 'utf8').trim();
const bearer = (token = at.token) => ({ headers: { authorization: `Bearer ${token}` } });

/** A connection: `ask` resolves with the answer to its id; `heard` has everything. */
async function connect(agent, hub = at.target) {
  const socket = new WebSocket(url('/agent', hub), bearer(tokenOf(hub)));
  open.add(socket);
  await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject));
  const heard = [];
  socket.on('message', (text) => heard.push(JSON.parse(text)));
  const answered = (id) => until(`the answer to ${id}`, () => heard.find((m) => m.id === id && !m.progress));
  const send = (id, action, payload, browser) => socket.send(JSON.stringify({ id, action, payload, browser }));
  const ask = async (id, action, payload, browser) => {
    send(id, action, payload, browser);
    return answered(id);
  };
  const welcome = agent && (await ask('hello', 'hello', { agent })).result;
  return { socket, heard, send, ask, answered, welcome };
}

const refused = (path, options) => new Promise((resolve, reject) => {
  const socket = new WebSocket(url(path), options);
  socket.on('unexpected-response', (_, response) => resolve(response.statusCode)).on('error', () => {});
  socket.on('open', () => reject(new Error(`${path} was let in`)));
});

test('the token opens it in four places, and nothing else does', async () => {
  const ways = [
    ['/agent', bearer()], [`/agent?token=${at.token}`], [`/t/${at.token}/agent`],
    ['/agent', undefined, [`bowline.token.${at.token}`]],
  ];
  for (const [path, options, protocols] of ways) {
    const socket = new WebSocket(url(path), protocols, options);
    await within(5_000, `${path} open`, new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject)));
    socket.close();
  }
  assert.equal(await refused('/agent'), 401);
  assert.equal(await refused('/agent?token=nonsense'), 401);
  assert.equal(await refused('/agent', { ...bearer(), origin: 'https://evil.test' }), 403);
});

test('ops, errors and what is no request are answered by id', async () => {
  const agent = await connect('doer');
  assert.equal(agent.welcome.agent, 'doer');
  const went = await agent.ask(1, 'op.navigate', { url: at.site.url('/two') });
  assert.equal(went.result.data.title, 'two');
  assert.equal((await agent.ask('two', 'op.evaluate', { expression: '6 * 7' }, 'default')).result.data.value, 42);
  assert.equal((await agent.ask(3, 'op.evaluate', { expression: '1' }, 'nobody')).error.code, 'no_such_browser');
  const unknown = (await agent.ask(4, 'fly')).error;
  assert.equal(unknown.code, 'no_such_action');
  assert.ok(unknown.message && unknown.hint);
  assert.deepEqual((await agent.ask(5, 'ping')).result, {});
  agent.socket.send('no JSON');
  await until('an error without an id', () => agent.heard.find((m) => m.id === null && m.error.code === 'bad_request'));
});

test('many agents act at once, each in a tab of its own', async () => {
  const agents = await pooled(Array.from({ length: 8 }), 8, (_, i) => connect(`many-${i}`));
  await pooled(agents, 8, (agent, i) => agent.ask(1, 'op.navigate', { url: at.site.url(`/two?${i}`) }));
  const places = await pooled(agents, 8, (agent) => agent.ask(2, 'op.evaluate', { expression: 'location.search' }));
  assert.deepEqual(places.map(({ result }) => result.data.value), agents.map((_, i) => `?${i}`));
});

test('an id that is sent again is answered again, and not done again', async () => {
  const first = await connect('repeater');
  await first.ask(1, 'op.navigate', { url: at.site.url('/two') });
  const count = { expression: 'window.count = (window.count ?? 0) + 1' };
  assert.equal((await first.ask(2, 'op.evaluate', count)).result.data.value, 1);
  // The connection is lost, not closed.
  first.socket.terminate();
  const second = await connect('repeater');
  assert.equal(second.welcome.instance, first.welcome.instance);
  assert.equal((await second.ask(2, 'op.evaluate', count)).result.data.value, 1, 'the same answer');
  assert.equal((await second.ask(3, 'op.evaluate', { expression: 'window.count' })).result.data.value, 1);
  // Another agent's ids are its own.
  const other = await connect('another');
  await other.ask(1, 'op.navigate', { url: at.site.url('/three') });
  assert.equal((await other.ask(2, 'op.evaluate', { expression: 'document.title' })).result.data.value, 'three');
});

test('one that is under way when its connection is lost goes on, and is answered on the next', async () => {
  const slow = { expression: `window.runs = (window.runs ?? 0) + 1; await new Promise((resolve) => { window.finish = resolve; }); window.runs` };
  const first = await connect('loser');
  await first.ask(1, 'op.navigate', { url: at.site.url('/two') });
  first.send(2, 'op.evaluate', slow);
  await until('it runs', async () => (await first.ask(`look${performance.now()}`, 'op.evaluate', { expression: 'typeof window.finish' })).result.data.value === 'function');
  first.socket.terminate();
  const second = await connect('loser');
  second.send(2, 'op.evaluate', slow);
  await second.ask(3, 'op.evaluate', { expression: 'window.finish(), 0' });
  assert.equal((await second.answered(2)).result.data.value, 1);
});

test('cancel stops what is under way, and a goodbye stops all of it', async () => {
  const agent = await connect('canceller');
  await agent.ask(1, 'op.navigate', { url: at.site.url('/two') });
  agent.send(2, 'op.evaluate', { expression: 'await new Promise(() => {})', timeout: 60_000 });
  assert.deepEqual((await agent.ask(3, 'cancel', { id: 2 })).result, { cancelled: true });
  assert.equal((await agent.answered(2)).error.code, 'cancelled');
  assert.deepEqual((await agent.ask(4, 'cancel', { id: 2 })).result, { cancelled: false });
  agent.send(5, 'op.evaluate', { expression: 'await new Promise(() => {})', timeout: 60_000 });
  await agent.ask(6, 'ping');
  agent.socket.close();
  await new Promise((resolve) => agent.socket.on('close', resolve));
  const again = await connect('canceller');
  assert.equal((await again.ask(5, 'op.evaluate', { expression: 'await new Promise(() => {})', timeout: 60_000 })).error.code, 'cancelled', 'it is remembered how it ended');
});

test('what a new connection takes over is called off when its agent says goodbye', async () => {
  const slow = { expression: `await fetch('/taken'); await new Promise(() => {})`, timeout: 60_000 };
  const first = await connect('taker');
  await first.ask(1, 'op.navigate', { url: at.site.url('/two') });
  first.send(2, 'op.evaluate', slow);
  await until('it runs', () => at.site.requests.includes('GET /taken'));
  first.socket.terminate();
  const second = await connect('taker');
  second.send(2, 'op.evaluate', slow);
  second.send(2, 'op.evaluate', slow);
  await second.ask(3, 'ping');
  second.socket.close();
  await new Promise((resolve) => second.socket.on('close', resolve));
  const third = await connect('taker');
  assert.equal((await third.ask(2, 'op.evaluate', slow)).error.code, 'cancelled');
  assert.equal(at.site.requests.filter((request) => request === 'GET /taken').length, 1);
});

test('what was begun once and is forgotten since is not begun again', async () => {
  const agent = await connect('forgetter');
  await agent.ask(1, 'op.navigate', { url: at.site.url('/two') });
  agent.socket.send(JSON.stringify({ id: 2, action: 'op.evaluate', payload: { expression: 'window.again = 1' }, begun: true }));
  assert.equal((await agent.answered(2)).error.code, 'answer_gone');
  assert.equal((await agent.ask(3, 'op.evaluate', { expression: 'String(window.again)' })).result.data.value, 'undefined');
});

test('browser actions of the bridge are taken by their names', async () => {
  const { ask } = await connect('bridge');
  const made = (await ask('b1', 'createTab', { url: at.site.url('/two') })).result;
  assert.deepEqual([made.success, made.title], [true, 'two']);
  const tabs = (await ask('b2', 'getTabs')).result;
  assert.ok(tabs.some((tab) => tab.id === made.tabId && tab.active));
  assert.equal((await ask('b3', 'executeScript', { script: 'return document.title + 1', tabId: made.tabId })).result.result, 'two1');
  const unknown = (await ask('b4', 'getTabz')).error;
  assert.ok(['no_such_action', 'no_such_op'].includes(unknown.code));
});

test('where one drives at a time, a browser is waited for under every name that it has', async () => {
  const hub = await startTarget({ env: { BOWLINE_CDP_CLIENT_MODE: 'single-active' } });
  try {
    const [first, second] = [await connect('first', hub), await connect('second', hub)];
    await first.ask(1, 'op.navigate', { url: at.site.url('/two') });
    second.send(1, 'getTabs', {}, 'chromium');
    await until('it waits', () => second.heard.find((m) => m.id === 1 && /waiting for `default`/.test(m.progress?.message)));
    // Another connection of the one who is there need not.
    assert.ok((await (await connect('first', hub)).ask(2, 'getTabs')).result.length > 0);
    assert.equal((await second.ask(2, 'getTabs', {}, 'nobody')).error.code, 'no_such_browser');
    // Over REST it is the same: the one who is there is let in, another waits.
    const rest = await Agent.of(hub, 'first');
    assert.equal(await rest.value('document.title'), 'two');
    const other = rest.as('third').op('tabs');
    assert.equal(await Promise.race([other, delay(600, 'waits')]), 'waits');
    for (const socket of open) if (socket.url.startsWith(url('', hub)) && socket !== second.socket) socket.close();
    assert.ok((await second.answered(1)).result.length > 0);
    second.socket.close();
    assert.ok((await other).tabs.length > 0);
  } finally {
    await hub.stop();
  }
});

test('events are pushed to those who asked for them: tabs, console, requests, dialogs, changes of the page', async () => {
  const [told, silent] = [await connect('told'), await connect('silent')];
  assert.equal((await told.ask('s1', 'subscribe', { events: ['tabs', 'console', 'network', 'dialogs', 'dom'] })).result.events, 5);
  assert.match((await told.ask('s2', 'subscribe', { events: ['weather'] })).error.message, /weather/);
  const event = (kind, fits) => until(`a ${kind} event`, () => told.heard.find((m) => m.event === kind && fits(m)));
  const { tabId } = (await told.ask('s3', 'createTab', { url: at.site.url('/dialogs') })).result;
  await event('tabs', (m) => m.tab === tabId && m.data.what === 'changed' && m.data.url === at.site.url('/dialogs'));
  await event('network', (m) => m.tab === tabId && m.data.url === at.site.url('/dialogs') && m.data.status === 200);
  await told.ask('s4', 'executeScript', { script: `console.warn('pushed'); return 1` });
  await event('console', (m) => m.tab === tabId && m.data.text === 'pushed');
  await told.ask('s5', 'setWatchMode', { enabled: true });
  await told.ask('s6', 'executeScript', { script: `document.body.append(document.createElement('hr')); return 1` });
  await event('dom', (m) => m.tab === tabId && JSON.stringify(m.data.changes).includes('hr'));
  await told.ask('s7', 'clickElement', { selector: '#go' });
  await event('dialogs', (m) => m.tab === tabId && m.data.message === 'one');
  await told.ask('s8', 'subscribe', { events: [] });
  for (const id of ['d1', 'd2', 'd3']) await told.ask(id, 'op.dialog', { accept: true });
  const before = told.heard.filter((m) => m.event).length;
  await told.ask('s9', 'closeTab', { tabId });
  assert.equal(told.heard.filter((m) => m.event).length, before, 'nothing more after the end of the wish');
  assert.deepEqual(silent.heard.filter((m) => m.event), []);
});
