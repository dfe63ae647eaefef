// A history that goes on: first what there is, then what comes, nothing lost and nothing twice, also
// over a connection that breaks and a hub that is killed.
import assert from 'node:assert/strict';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { withHub } from './lib/life.mjs';
import { Rest } from './lib/rest.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const at = fixture({
  async open(own) {
    if (own.target.direct) return;
    own.rest = await Rest.of(own.target);
    own.cdp = await Cdp.connect(own.target.ws);
  },
  close: (own) => own.cdp?.close(),
});

async function open(url = 'about:blank') {
  const { targetId: id, sessionId } = await at.cdp.page(url);
  return {
    id,
    path: at.rest.scope(id),
    run: (code) => at.cdp.evaluate(code, sessionId),
    say: (...words) => at.cdp.evaluate(`for (const word of ${JSON.stringify(words)}) console.log(word)`, sessionId),
    close: () => at.cdp.send('Target.closeTarget', { targetId: id }),
  };
}

const texts = (stream) => stream.of('console').map(({ text }) => text);

test('first comes what there is, then one event that says so, then what is new', hubOnly, async () => {
  const page = await open();
  await page.say('one', 'two');
  const { seq } = await at.rest.line(page.id, 'two');
  const stream = await at.rest.follow(`${page.path}/console`);
  assert.equal(stream.type, 'text/event-stream');
  const { latest } = await stream.event('ready');
  assert.ok(latest >= seq);
  assert.deepEqual(texts(stream), ['one', 'two']);
  assert.ok(stream.of('console').every(({ historical }) => historical));
  await page.say('three');
  await stream.event('console', ({ text }) => text === 'three');
  assert.deepEqual(texts(stream), ['one', 'two', 'three']);
  assert.equal(stream.of('console').at(-1).historical, false);
  assert.deepEqual(stream.events.map(({ event }) => event), ['console', 'console', 'ready', 'console']);
  for (const { event, id, data } of stream.events) if (event === 'console') assert.equal(Number(id), data.seq);
  await stream.close();
});

test('an empty history is ready at once', hubOnly, async () => {
  const page = await open();
  const stream = await at.rest.follow(`${page.path}/console`);
  await stream.event('ready');
  assert.equal(stream.events.length, 1);
  await stream.close();
});

test('whoever comes back with the last number gets the rest, each once', hubOnly, async () => {
  const page = await open();
  await page.run('window.n = 0; window.timer = setInterval(() => { for (let i = 0; i < 5; i++) console.log("line " + n++); }, 2); void 0');
  const seen = [];
  let last = 0;
  for (let i = 0; i < 6; i++) {
    const stream = await at.rest.follow(`${page.path}/console`, { since: last });
    await until('some more', () => stream.of('console').length >= 40);
    // In the middle of whatever it is sending.
    stream.request.destroy();
    await within(5_000, 'closed', stream.ended);
    const got = stream.events.filter(({ event }) => event === 'console');
    seen.push(...got.map(({ data }) => data.text));
    last = Number(got.at(-1).id);
  }
  await page.run('clearInterval(timer)');
  const said = await page.run('n');
  const rest = await at.rest.follow(`${page.path}/console`, { since: last });
  await until('the end of it', () => seen.length + rest.of('console').length >= said);
  seen.push(...texts(rest));
  await rest.close();
  assert.deepEqual(seen, Array.from({ length: said }, (_, i) => `line ${i}`));
});

test('filters and max hold for a stream: max for what there is, not for what comes', hubOnly, async () => {
  const page = await open();
  await page.run('for (let i = 0; i < 10; i++) { console.log("log " + i); console.warn("warn " + i); }');
  await at.rest.line(page.id, 'warn 9');
  const stream = await at.rest.follow(`${page.path}/console`, { types: 'warn', max: 2 });
  await stream.event('ready');
  assert.deepEqual(texts(stream), ['warn 8', 'warn 9']);
  await page.run('for (let i = 10; i < 15; i++) { console.log("log " + i); console.warn("warn " + i); }');
  await stream.event('console', ({ text }) => text === 'warn 14');
  assert.deepEqual(texts(stream), [8, 9, 10, 11, 12, 13, 14].map((i) => `warn ${i}`));
  await stream.close();
});

test('a request is told of again whenever it changes, with growing numbers', hubOnly, async () => {
  const page = await open(at.site.url('/'));
  await until('loaded', () => page.run('document.title === "home"'));
  const { latest } = await at.rest.get(`${page.path}/network`);
  const stream = await at.rest.follow(`${page.path}/network`, { since: latest, urlPattern: 'followed' });
  await stream.event('ready');
  await page.run(`fetch('/api?followed', { headers: { Authorization: 'Bearer s3cret' } }).then((r) => r.text())`);
  await stream.event('request', ({ loadingFinished }) => loadingFinished);
  const changes = stream.of('request');
  assert.equal(new Set(changes.map(({ seq }) => seq)).size, 1);
  const numbers = changes.map(({ changed }) => changed);
  assert.deepEqual(numbers, [...new Set(numbers)].toSorted((a, b) => a - b), 'each change once, in order');
  assert.equal(changes.at(-1).status, 200);
  assert.doesNotMatch(JSON.stringify(stream.events), /s3cret/);
  await stream.close();
  const revealing = await at.rest.follow(`${page.path}/network`, { urlPattern: 'followed', reveal: 1 });
  await revealing.event('request', ({ headers }) => JSON.stringify(headers).includes('Bearer s3cret'));
  await revealing.close();
});

test('a whole browser is followed with its tabs that are still to come', hubOnly, async () => {
  const stream = await at.rest.follow('/browsers/default/console', { textPattern: '^of a ' });
  await stream.event('ready');
  const [one, two] = [await open(), await open()];
  await one.say('of a new tab');
  await two.say('of a newer tab');
  await stream.event('console', ({ text, tab }) => text === 'of a new tab' && tab === one.id);
  await stream.event('console', ({ text, tab }) => text === 'of a newer tab' && tab === two.id);
  const numbers = stream.of('console').map(({ seq }) => seq);
  assert.deepEqual(numbers, numbers.toSorted((a, b) => a - b));
  await stream.close();
});

test('a tab that closes says so, and why; its records come first', hubOnly, async () => {
  const page = await open();
  const stream = await at.rest.follow(`${page.path}/console`);
  await stream.event('ready');
  await page.run('console.log("last words")');
  await stream.event('console', ({ text }) => text === 'last words');
  await page.close();
  const { state, reason } = await stream.event('state');
  assert.deepEqual([state, typeof reason], ['closed', 'string']);
  await stream.close();
});

test('many follow at once, and all get the same', hubOnly, async () => {
  const page = await open();
  const streams = await Promise.all(Array.from({ length: 20 }, () => at.rest.follow(`${page.path}/console`)));
  await Promise.all(streams.map((stream) => stream.event('ready')));
  await page.run('for (let i = 0; i < 300; i++) console.log("line " + i)');
  await Promise.all(streams.map((stream) => stream.event('console', ({ text }) => text === 'line 299')));
  for (const stream of streams) assert.deepEqual(texts(stream), Array.from({ length: 300 }, (_, i) => `line ${i}`));
  await Promise.all(streams.map((stream) => stream.close()));
});

test('what was dropped before one came is told first, and what one was too slow for when it happens', hubOnly, () => withHub(async ({ hub }) => {
  const rest = await Rest.of(hub);
  const cdp = await Cdp.connect(hub.endpoint);
  const { targetId, sessionId } = await cdp.page();
  await cdp.evaluate('for (let i = 0; i < 25; i++) console.log("line " + i)', sessionId);
  await rest.line(targetId, 'line 24');
  const stream = await rest.follow(`${rest.scope(targetId)}/console`);
  await stream.event('ready');
  assert.equal(stream.events[0].event, 'dropped');
  assert.equal(stream.events[0].data.dropped, 15);
  assert.equal(stream.of('console').length, 10);
  // A burst that is over before anyone could have read it.
  await cdp.evaluate('for (let i = 25; i < 2025; i++) console.log("line " + i)', sessionId);
  await stream.event('console', ({ text }) => text === 'line 2024');
  const got = stream.of('console').length;
  const dropped = stream.of('dropped').reduce((sum, event) => sum + event.dropped, 0);
  assert.equal(got + dropped, 2025, `${got} came, ${dropped} were said to be missing`);
  await cdp.close();
}, { BOWLINE_RECORDER_MAX_CONSOLE: '10' }));

test('a stream ends with the hub, and the next hub goes on after its number', hubOnly, () => withHub(async ({ home, hub }) => {
  const rest = await Rest.of(hub);
  const cdp = await Cdp.connect(hub.endpoint);
  const { sessionId } = await cdp.page();
  const stream = await rest.follow('/browsers/default/console');
  await cdp.evaluate('console.log("before")', sessionId);
  await stream.event('console', ({ text }) => text === 'before');
  await hub.end();
  await within(10_000, 'the stream ended', stream.ended);
  const last = Number(stream.events.findLast(({ id }) => id).id);

  const next = await home.serve();
  const again = await Rest.of(next);
  const rejoined = await again.follow('/browsers/default/console', { since: last });
  await rejoined.event('ready');
  assert.deepEqual(texts(rejoined), [], 'it has that already');
  const second = await Cdp.connect(next.endpoint);
  const page = await second.page();
  await second.evaluate('console.log("after")', page.sessionId);
  await rejoined.event('console', ({ text }) => text === 'after');
  assert.deepEqual(texts(rejoined), ['after']);
  await rejoined.close();
  await second.close();
}));

test('whoever follows keeps the hub, and an unread stream does not keep others', hubOnly, () => withHub(async ({ hub }) => {
  const rest = await Rest.of(hub);
  const stream = await rest.follow('/browsers/default/console');
  await stream.event('ready');
  const left = within(3_000, 'the hub left', hub.exited).then(() => 'left', () => 'stayed');
  assert.equal(await left, 'stayed');
  await stream.close();
  await within(15_000, 'the hub left', hub.exited);
}, { BOWLINE_IDLE_TIMEOUT: '1s' }));
