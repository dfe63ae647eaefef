// Connections: a tab of somebody else's browser by its port, the same for all who ask, looked after
// while it is there and sought when it is lost.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { Cdp } from './lib/cdp.mjs';
import { Chromium } from './lib/chromium.mjs';
import { DIRECT, hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { Home } from './lib/hub.mjs';
import { freePort, withHome } from './lib/life.mjs';
import { alive, gone, signal } from './lib/processes.mjs';
import { Rest } from './lib/rest.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const QUICK = {
  BOWLINE_CONNECTIONS_HEALTH_INTERVAL: '200ms',
  BOWLINE_CONNECTIONS_SUSPICIOUS_INTERVAL: '100ms',
  BOWLINE_CONNECTIONS_RECONNECT_BACKOFF: '100ms',
  BOWLINE_CONNECTIONS_RECONNECT_ATTEMPTS: '3',
};

const at = fixture({
  target: false,
  async open(own) {
    if (DIRECT) return;
    own.home = await Home.make(QUICK);
    own.hub = await own.home.serve();
    own.rest = await Rest.of(own.hub);
    own.chromium = await Chromium.start();
    own.cdp = await Cdp.connect(own.chromium.endpoint);
  },
  async close(own) {
    await own.cdp?.close();
    await own.chromium?.stop();
    await own.hub?.stop();
  },
});

const connect = (more, rest = at.rest) => rest.post('/connect', { port: at.chromium.port, ...more });

test('whoever asks for a tab gets its connection, and it is one however many ask', hubOnly, async () => {
  const { targetId } = await at.cdp.page(at.site.url('/console'));
  const answers = await Promise.all(Array.from({ length: 10 }, () => connect({ targetId })));
  assert.equal(new Set(answers.map(({ connectionId }) => connectionId)).size, 1);
  assert.equal(answers.filter(({ isNewConnection }) => isNewConnection).length, 1, 'new for one of them');
  const [{ connectionId, targetInfo, browser }] = answers;
  assert.deepEqual([targetInfo.id, targetInfo.type, targetInfo.url], [targetId, 'page', at.site.url('/console')]);
  assert.equal(browser, `chrome-${at.chromium.port}`);
  for (const host of ['localhost', '127.0.0.1', 'LOCALHOST']) {
    const again = await connect({ host, targetId });
    assert.deepEqual([again.connectionId, again.isNewConnection], [connectionId, false], host);
  }
  const other = await at.cdp.page('about:blank');
  const second = await connect({ targetId: other.targetId });
  assert.deepEqual([second.isNewConnection, second.browser], [true, browser]);
  assert.notEqual(second.connectionId, connectionId);
  const first = await connect();
  assert.equal(first.targetInfo.type, 'page', 'without a target, the first page');
});

test('the history of a tab that was open before is what the browser still knows, and then everything', hubOnly, async () => {
  const page = await at.cdp.page('about:blank');
  await at.cdp.evaluate('console.log("before"); console.log("also before")', page.sessionId);
  const { connectionId } = await connect({ targetId: page.targetId });
  await at.cdp.evaluate('console.log("since then")', page.sessionId);
  const messages = await until('the new one', async () => {
    const { messages: found } = await at.rest.get(`/console/${connectionId}`);
    return found.some(({ text }) => text === 'since then') && found;
  });
  assert.deepEqual(messages.map(({ text }) => text), ['before', 'also before', 'since then']);
});

test('commands are executed, counted and timed', hubOnly, async () => {
  const page = await at.cdp.page(at.site.url('/'));
  const { connectionId: id } = await connect({ targetId: page.targetId });
  const execute = (body) => at.rest.ask('POST', `/execute/${id}`, { body });
  assert.equal((await execute({ method: 'Runtime.evaluate', params: { expression: '6 * 7' } })).data.result.result.value, 42);
  assert.equal((await execute({ method: 'No.such' })).status, 422);
  assert.equal((await execute({ method: 'Runtime.evaluate', params: { expression: 'new Promise(() => {})', awaitPromise: true }, timeout: 100 })).status, 408);
  await at.cdp.evaluate('for (let i = 0; i < 3; i++) console.log(i); fetch("/api").then((r) => r.text())', page.sessionId);
  await until('heard', async () => (await at.rest.get(`/network/${id}`)).requests.some(({ url, loadingFinished }) => url.endsWith('/api') && loadingFinished));
  const status = (await at.rest.get('/connections')).find((connection) => connection.id === id);
  const { totalCommands, successfulCommands, failedCommands, timeoutCount, averageExecutionTime } = status.metrics.commands;
  assert.deepEqual([totalCommands, successfulCommands, failedCommands, timeoutCount], [3, 1, 2, 1]);
  assert.ok(averageExecutionTime > 30 && averageExecutionTime < 5_000, `${averageExecutionTime}`);
  assert.ok(status.metrics.messageCount >= 3 && status.metrics.requestCount >= 1, JSON.stringify(status.metrics));
  assert.deepEqual([status.host, status.port, status.targetId, status.isHealthy], ['127.0.0.1', at.chromium.port, page.targetId, true]);
  assert.ok(status.wsUrl.endsWith(`/devtools/page/${page.targetId}`));
  assert.ok(status.metrics.uptime > 0 && status.lastUsed >= status.createdAt);
});

test('a connection is probed now and then', hubOnly, async () => {
  const { connectionId: id } = await connect();
  const health = await until('probed', async () => {
    const found = await at.rest.get(`/health/${id}`);
    return found.lastCheck && found;
  });
  assert.deepEqual([health.isHealthy, health.state, health.errorCount, health.connectionId], [true, 'healthy', 0, id]);
  const before = health.lastCheck;
  await until('probed again', async () => (await at.rest.get(`/health/${id}`)).lastCheck > before);
});

test('clients are counted by name, and by following', hubOnly, async () => {
  const page = await at.cdp.page('about:blank');
  const { connectionId: id } = await connect({ targetId: page.targetId });
  const count = async () => (await at.rest.get('/connections')).find((connection) => connection.id === id).clientCount;
  assert.equal(await count(), 0);
  for (const client of ['a', 'b', 'a']) await at.rest.get(`/console/${id}`, { client });
  assert.equal(await count(), 2);
  const streams = await Promise.all([1, 2, 3].map(() => at.rest.follow(`/network/${id}`)));
  assert.equal(await count(), 3);
  await Promise.all(streams.map((stream) => stream.close()));
  await until('they have left', async () => (await count()) === 2);
});

test('a tab that closes closes its connection, which keeps its history for a while', hubOnly, async () => {
  const page = await at.cdp.page('about:blank');
  await at.cdp.evaluate('console.log("last")', page.sessionId);
  const { connectionId: id } = await connect({ targetId: page.targetId });
  await at.cdp.send('Target.closeTarget', { targetId: page.targetId });
  const health = await until('closed', async () => {
    const found = await at.rest.get(`/health/${id}`);
    return found.state === 'closed' && found;
  });
  assert.equal(health.isHealthy, false);
  assert.match(health.lastError, /closed/);
  assert.deepEqual((await at.rest.get(`/console/${id}`)).messages.map(({ text }) => text), ['last']);
});

test('where nobody or somebody else answers, or there is no such tab, there is no connection', hubOnly, async () => {
  const before = (await at.rest.get('/connections')).length;
  const missing = await at.rest.refused('POST', '/connect', { body: { port: at.chromium.port, targetId: 'NOPE' } });
  assert.deepEqual([missing.status, missing.code], [404, 'no_such_target']);
  assert.match(missing.message, /NOPE/);
  const port = await freePort();
  const refused = await at.rest.refused('POST', '/connect', { body: { port } });
  assert.equal(refused.status, 404);
  assert.match(refused.message, new RegExp(`${port}`));
  const stranger = createServer((_, res) => res.end('hello')).listen(0, '127.0.0.1');
  await until('the stranger listens', () => stranger.address());
  const strange = await at.rest.refused('POST', '/connect', { body: { port: stranger.address().port } });
  assert.ok([404, 409].includes(strange.status), `${strange.status} ${strange.message}`);
  stranger.close();
  assert.equal((await at.rest.get('/connections')).length, before);
  assert.ok(!(await at.home.status()).browsers.some(({ name }) => name === `chrome-${port}`), 'what is not there leaves no name');
});

test('the last connection that closes lets the browser go, and leaves it running', hubOnly, async () => {
  const chromium = await Chromium.start();
  try {
    const { connectionId, browser } = await at.rest.post('/connect', { port: chromium.port });
    assert.ok((await at.home.status(browser)).browser);
    await at.rest.delete(`/connection/${connectionId}`);
    assert.equal((await at.home.status(browser)).browser, undefined);
    assert.ok(alive(chromium.pid));
    assert.equal((await at.rest.post('/connect', { port: chromium.port })).isNewConnection, true);
  } finally {
    await chromium.stop();
  }
});

test('a browser that dies is sought, in vain; its connections fail, and say so to those who follow', hubOnly, async () => {
  const chromium = await Chromium.start();
  try {
    const cdp = await Cdp.connect(chromium.endpoint);
    const page = await cdp.page('about:blank');
    const { connectionId: id } = await at.rest.post('/connect', { port: chromium.port, targetId: page.targetId });
    await cdp.evaluate('console.log("before it died")', page.sessionId);
    const stream = await at.rest.follow(`/console/${id}`);
    await stream.event('console', ({ text }) => text === 'before it died');
    await stream.event('ready');
    signal(chromium.pid, 'SIGKILL');
    await stream.event('state', ({ state }) => state === 'failed', 15_000);
    await within(5_000, 'the stream ends', stream.ended);
    // A probe may have been the first to notice, and each attempt may have its own reason.
    const states = new Set(stream.of('state').map(({ state }) => state));
    states.delete('suspicious');
    assert.deepEqual([...states], ['reconnecting', 'failed']);
    assert.ok(stream.of('state').every(({ reason }) => reason), 'each says why');
    const health = await at.rest.get(`/health/${id}`);
    assert.deepEqual([health.isHealthy, health.state], [false, 'failed']);
    assert.ok(health.lastError && health.errorCount > 0, JSON.stringify(health));
    assert.deepEqual((await at.rest.get(`/console/${id}`)).messages.map(({ text }) => text), ['before it died'], 'its history stays');
    const execute = await at.rest.refused('POST', `/execute/${id}`, { body: { method: 'Page.enable' } });
    assert.equal(execute.status, 503);
    await cdp.closed;
  } finally {
    await chromium.stop();
  }
});

test('a browser started again on its port and profile is healthy on the next connect, with its old tabs closed', hubOnly, async () => {
  const first = await Chromium.start();
  let second;
  try {
    const cdp = await Cdp.connect(first.endpoint);
    const page = await cdp.page(at.site.url('/console'));
    const { connectionId: old, browser } = await at.rest.post('/connect', { port: first.port, targetId: page.targetId });
    await until('recorded', async () => (await at.rest.get(`/console/${old}`)).messages.length >= 3);
    signal(first.pid, 'SIGKILL');
    await gone(first.pid);
    second = await Chromium.start({ port: first.port, profile: first.profile });
    const state = await until('the old one is over', async () => {
      const found = (await at.rest.get(`/health/${old}`)).state;
      return ['closed', 'failed'].includes(found) && found;
    }, 15_000);
    const { connectionId, isNewConnection, targetInfo, browser: name } = await at.rest.post('/connect', { port: first.port });
    assert.deepEqual([isNewConnection, name], [true, browser], `the same browser, another tab (${state})`);
    assert.notEqual(targetInfo.id, page.targetId);
    assert.equal((await at.rest.get(`/health/${connectionId}`)).isHealthy, true);
    const tabs = await at.rest.tabs({ closed: 1 }, browser);
    assert.equal(tabs.find(({ id }) => id === page.targetId).open, false);
    assert.ok((await at.rest.get(`/console/${old}`)).messages.length >= 3, 'what it said is still known');
    const { result } = await at.rest.post(`/execute/${connectionId}`, { method: 'Runtime.evaluate', params: { expression: '1' } });
    assert.equal(result.result.value, 1);
  } finally {
    await second?.stop();
    await first.stop();
  }
});

test('a hub that comes back finds its connections again: nothing is lost and nothing is twice', hubOnly, () => withHome(async (home) => {
  const chromium = await Chromium.start();
  try {
    const hub = await home.serve();
    const rest = await Rest.of(hub);
    const cdp = await Cdp.connect(chromium.endpoint);
    const page = await cdp.page('about:blank');
    const { connectionId: id } = await rest.post('/connect', { port: chromium.port, targetId: page.targetId });
    await cdp.evaluate('console.log("one"); console.warn("two")', page.sessionId);
    await until('heard', async () => (await rest.get(`/console/${id}`)).messages.length === 2);
    await hub.end();
    await cdp.evaluate('console.log("meanwhile")', page.sessionId);

    const again = await Rest.of(await home.serve());
    await until('healthy again', async () => (await again.get(`/health/${id}`)).isHealthy);
    await cdp.evaluate('console.log("afterwards")', page.sessionId);
    const messages = await until('heard', async () => {
      const { messages: found } = await again.get(`/console/${id}`);
      return found.some(({ text }) => text === 'afterwards') && found;
    });
    assert.deepEqual(messages.map(({ text }) => text), ['one', 'two', 'meanwhile', 'afterwards']);
    const same = await again.post('/connect', { port: chromium.port, targetId: page.targetId });
    assert.deepEqual([same.connectionId, same.isNewConnection], [id, false]);
    await cdp.close();
  } finally {
    await chromium.stop();
  }
}, QUICK));

test('a connection that nobody uses is closed', hubOnly, () => withHome(async (home) => {
  const rest = await Rest.of(await home.serve());
  const { connectionId } = await connect({}, rest);
  await until('forgotten', async () => !(await rest.get('/connections')).some(({ id }) => id === connectionId));
  assert.equal((await rest.refused('GET', `/console/${connectionId}`)).code, 'no_such_connection');
}, { ...QUICK, BOWLINE_CONNECTIONS_MAX_IDLE: '500ms' }));
