// What is remembered stays within its bounds, says what it has dropped, and goes when its time is over.
import assert from 'node:assert/strict';
import { WebSocketServer } from 'ws';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { withHub } from './lib/life.mjs';
import { Rest } from './lib/rest.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const LINES = 10;
const REQUESTS = 8;
const FRAMES = 5;
const KIB = 1024;

const at = fixture({
  env: {
    BOWLINE_RECORDER_MAX_CONSOLE: String(LINES),
    BOWLINE_RECORDER_MAX_REQUESTS: String(REQUESTS),
    BOWLINE_RECORDER_MAX_FRAMES: String(FRAMES),
    BOWLINE_RECORDER_MAX_CONSOLE_BYTES: '16KiB',
    BOWLINE_RECORDER_MAX_TEXT: '4KiB',
    BOWLINE_HISTORY_KEEP_CLOSED: '1s',
  },
  async open(own) {
    if (own.target.direct) return;
    own.rest = await Rest.of(own.target);
    own.cdp = await Cdp.connect(own.target.ws);
    own.sockets = new WebSocketServer({ server: own.site.server, path: '/socket' });
  },
  async close(own) {
    await own.cdp?.close();
    own.sockets?.clients.forEach((socket) => socket.terminate());
    own.sockets?.close();
  },
});

async function open(url = 'about:blank', { cdp, rest } = at) {
  const { targetId: id, sessionId } = await cdp.page(url);
  return {
    id,
    run: (code) => cdp.evaluate(code, sessionId),
    history: (kind) => rest.get(`${rest.scope(id)}/${kind}`),
    status: async () => (await rest.tabs({ closed: 1 })).find((tab) => tab.id === id),
    close: () => cdp.send('Target.closeTarget', { targetId: id }),
  };
}

test('of many lines the latest stay, and the others are counted', hubOnly, async () => {
  const page = await open();
  await page.run('for (let i = 0; i < 1000; i++) console.log("line " + i)');
  const { messages, total, dropped } = await until('all of them', async () => {
    const history = await page.history('console');
    return history.total + history.dropped === 1000 && history;
  });
  assert.deepEqual(messages.map(({ text }) => text), Array.from({ length: LINES }, (_, i) => `line ${990 + i}`));
  assert.deepEqual([total, dropped], [LINES, 1000 - LINES]);
  assert.deepEqual((await page.status()).console, { count: LINES, dropped: 1000 - LINES });
});

test('the drops of one tab are not those of another', hubOnly, async () => {
  const page = await open();
  await page.run('console.log("alone")');
  await at.rest.line(page.id, 'alone');
  assert.equal((await page.history('console')).dropped, 0);
  const { dropped, total } = await at.rest.get('/browsers/default/console');
  assert.ok(dropped >= 990 && total > LINES, 'of all tabs together');
});

test('a few long lines fill the memory as many short ones do', hubOnly, async () => {
  const page = await open();
  await page.run('for (let i = 0; i < 8; i++) console.log(i + "x".repeat(10_000))');
  const history = await until('all of them', async () => {
    const found = await page.history('console');
    return found.total + found.dropped === 8 && found;
  });
  assert.ok(history.messages.every(({ text, truncated }) => text.length === 4 * KIB && truncated === 10_001 - 4 * KIB));
  assert.ok(history.total >= 1 && history.total * 4 * KIB <= 16 * KIB, `${history.total} of 4 KiB in 16 KiB`);
  assert.equal(history.messages.at(-1).text[0], '7', 'the last one is there');
});

test('of many requests the latest stay, and the others are counted', hubOnly, async () => {
  const page = await open(at.site.url('/'));
  await until('loaded', () => page.run('document.title === "home"'));
  await page.run('(async () => { for (let i = 0; i < 20; i++) await fetch("/api?" + i).then((r) => r.text()); })()');
  await at.rest.finished(page.id, '/api?19');
  const { requests, total, dropped } = await page.history('network');
  assert.equal(total, REQUESTS);
  assert.deepEqual(requests.map(({ url }) => new URL(url).search), Array.from({ length: REQUESTS }, (_, i) => `?${20 - REQUESTS + i}`));
  assert.ok(dropped >= 21 - REQUESTS, `${dropped}`);
  assert.equal((await page.status()).network.count, REQUESTS);
});

test('of many frames of a socket the latest stay, and the others are counted', hubOnly, async () => {
  const page = await open(at.site.url('/'));
  await until('loaded', () => page.run('document.title === "home"'));
  await page.run(`new Promise((done) => { const s = window.socket = new WebSocket('ws://127.0.0.1:${at.site.port}/socket');
    s.onopen = () => { for (let i = 0; i < 12; i++) s.send('frame ' + i); done(); }; })`);
  const record = await at.rest.request(page.id, ({ type, messages, messagesDropped }) => type === 'WebSocket' && messages?.length + messagesDropped === 12);
  assert.deepEqual(record.messages.map(({ data }) => data), Array.from({ length: FRAMES }, (_, i) => `frame ${12 - FRAMES + i}`));
  assert.equal(record.messagesDropped, 12 - FRAMES);
});

test('clearing empties one side of one tab, and its count of drops', hubOnly, async () => {
  const [page, other] = [await open(at.site.url('/')), await open()];
  await page.run('for (let i = 0; i < 15; i++) console.log("line " + i)');
  await other.run('console.log("stays")');
  await at.rest.line(page.id, 'line 14');
  await at.rest.line(other.id, 'stays');
  assert.deepEqual(await at.rest.delete(`${at.rest.scope(page.id)}/console`), { console: LINES, network: 0 });
  const { messages, total, dropped } = await page.history('console');
  assert.deepEqual([messages, total, dropped], [[], 0, 0]);
  assert.ok((await page.history('network')).total > 0, 'its requests stay');
  await at.rest.line(other.id, 'stays');
  await page.run('console.log("after")');
  await at.rest.line(page.id, 'after');
});

test('a closed tab is remembered for its time and then not at all', hubOnly, async () => {
  const page = await open(at.site.url('/'));
  await page.run('console.log("soon gone")');
  await at.rest.line(page.id, 'soon gone');
  await page.close();
  const closed = await until('closed', async () => {
    const status = await page.status();
    return status && !status.open && status;
  });
  assert.equal(closed.index, undefined, 'it has no place among the open ones');
  assert.ok(closed.closedAt >= closed.openedAt && closed.reason, JSON.stringify(closed));
  assert.ok(!(await at.rest.tabs()).some(({ id }) => id === page.id), 'only listed where all are');
  assert.equal((await page.history('console')).messages.at(-1).text, 'soon gone', 'still there');
  const stream = await at.rest.follow(`${at.rest.scope(page.id)}/console`);
  await until('forgotten', async () => !(await page.status()));
  for (const kind of ['console', 'network', 'har']) {
    const { status, code, message } = await at.rest.refused('GET', `${at.rest.scope(page.id)}/${kind}`);
    assert.deepEqual([status, code], [404, 'no_such_tab']);
    assert.ok(message.includes(page.id), message);
  }
  const all = JSON.stringify([await at.rest.console(), await at.rest.network()]);
  assert.ok(!all.includes(page.id), 'nor is anything of it among all the others\'');
  await within(5_000, 'who followed it is let go', stream.ended);
});

test('closing a connection removes its history at once; the tab, if it is open, begins anew', hubOnly, async () => {
  const page = await open(at.site.url('/'));
  await page.run('console.log("to be removed")');
  await at.rest.line(page.id, 'to be removed');
  const { connectionId } = await at.rest.post('/connect', { port: at.target.port, targetId: page.id });
  assert.ok((await at.rest.get(`/console/${connectionId}`)).messages.some(({ text }) => text === 'to be removed'));
  await at.rest.delete(`/connection/${connectionId}`);
  for (const path of [`/console/${connectionId}`, `/network/${connectionId}`, `/health/${connectionId}`]) {
    const { status, code, message } = await at.rest.refused('GET', path);
    assert.deepEqual([status, code], [404, 'no_such_connection']);
    assert.ok(message.includes(connectionId), message);
  }
  assert.deepEqual(await at.rest.console(page.id), []);
  assert.deepEqual(await at.rest.network(page.id), []);
  await page.run('console.log("anew")');
  await at.rest.line(page.id, 'anew');
});

test('beyond their bound the tabs that closed first go first, open ones stay', hubOnly, () => withHub(async ({ hub }) => {
  const rest = await Rest.of(hub);
  const cdp = await Cdp.connect(hub.endpoint);
  const say = (name) => `for (let i = 0; i < 3; i++) console.log(${JSON.stringify(name)} + 'x'.repeat(4000))`;
  const stays = await open('about:blank', { cdp, rest });
  await stays.run(say('open '));
  const closed = [];
  for (let i = 0; i < 8; i++) {
    const page = await open('about:blank', { cdp, rest });
    await page.run(say(`tab ${i} `));
    await until('said', async () => (await page.history('console')).total === 3);
    await page.close();
    await until('the hub has noticed', async () => !(await page.status())?.open);
    closed.push(page.id);
  }
  const left = await until('within the bound', async () => {
    const { recorder } = await rest.get('/status');
    const tabs = await rest.tabs({ closed: 1 });
    const kept = tabs.filter(({ open: isOpen }) => !isOpen).map(({ id }) => id);
    return recorder.bytes <= 64 * KIB && kept.length < 8 && kept;
  });
  assert.ok(left.length > 0, 'not more than needed');
  assert.deepEqual(left, closed.slice(-left.length), 'the latest');
  assert.equal((await stays.history('console')).total, 3);
  await cdp.close();
}, { BOWLINE_HISTORY_MAX_BYTES: '64KiB' }));
