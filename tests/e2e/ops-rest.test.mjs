// The ops over REST: sessions with tabs of their own, leases, errors with a status and a code, the description.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { Rest } from './lib/rest.mjs';
import { test } from './lib/test.mjs';
import { timed, until } from './lib/until.mjs';

let asked = 0;
const at = fixture({
  pages: {
    // Answers only when it is told to.
    '/held': { answer: () => { asked += 1; } },
  },
  async open(own) {
    if (own.target.home) own.rest = await Rest.of(own.target);
  },
});

const headers = (session) => (session === undefined ? {} : { 'x-bowline-session': session });

/** The data of an op that must succeed. */
async function op(name, body, session, tab) {
  const path = tab === undefined ? `/browsers/default/ops/${name}` : `/browsers/default/tabs/${encodeURIComponent(tab)}/ops/${name}`;
  const answer = await at.rest.ask('POST', path, { body, headers: headers(session) });
  assert.ok(answer.success, `${name} ${JSON.stringify(body)}: ${answer.text}`);
  assert.equal(answer.status, 200);
  return answer.data;
}

async function fails(status, code, name, body, session, tab = 'current') {
  const error = await at.rest.refused('POST', `/browsers/default/tabs/${encodeURIComponent(tab)}/ops/${name}`, { body, headers: headers(session) });
  assert.deepEqual([error.status, error.code], [status, code], JSON.stringify(error));
  assert.ok(error.message && error.hint !== undefined);
  return error;
}

test('an op answers with its data and a text, in the envelope', hubOnly, async () => {
  const gone = await op('navigate', { url: at.site.url('/') }, 'a');
  assert.deepEqual([gone.title, gone.url], ['home', at.site.url('/')]);
  assert.match(gone.text, /home/);
  assert.equal(gone.page, at.site.url('/'));
  const { value, text } = await op('evaluate', { expression: '({ a: [1] })' }, 'a', 'current');
  assert.deepEqual(value, { a: [1] });
  assert.deepEqual(JSON.parse(text), { a: [1] });
  assert.equal((await op('reload', undefined, 'a')).title, 'home', 'a body may be absent');
  assert.equal((await op('browser_evaluate', { expression: '1' }, 'a')).value, 1, 'by the name of its tool');
});

test('a session keeps its tab between requests, and another has another', hubOnly, async () => {
  await op('navigate', { url: at.site.url('/two') }, 'one');
  await op('navigate', { url: at.site.url('/three') }, 'two');
  const where = (session) => op('evaluate', { expression: 'location.pathname' }, session).then(({ value }) => value);
  assert.deepEqual([await where('one'), await where('two'), await where('one')], ['/two', '/three', '/two']);
  await op('navigate', { url: at.site.url('/') }, 'one');
  assert.equal((await op('back', {}, 'one')).title, 'two');
  assert.equal((await op('forward', {}, 'one')).title, 'home');
  await op('back', {}, 'one');
  const { tabs } = await op('tabs', {}, 'one');
  assert.deepEqual(tabs.filter(({ current }) => current).map(({ url }) => url), [at.site.url('/two')]);
  assert.equal(tabs.find(({ url }) => url === at.site.url('/three')).owner, 'two');
});

test('a tab of one session is locked for others until it is handed over', hubOnly, async () => {
  const { tab } = await op('navigate', { url: at.site.url('/?locked'), new_tab: true }, 'one');
  const { owner } = await fails(409, 'tab_locked', 'evaluate', { expression: '1' }, 'two', tab);
  assert.equal(owner, 'one');
  await op('tabs', { action: 'take', tab }, 'two');
  assert.equal((await op('evaluate', { expression: '1' }, 'two', tab)).value, 1);
  await fails(409, 'tab_locked', 'navigate', { url: at.site.url('/') }, 'one', tab);
  await op('tabs', { action: 'release', tab }, 'two');
  assert.equal((await op('evaluate', { expression: '2' }, 'one', tab)).value, 2);
});

test('evaluate of the history follows the current tab of a session that is named', hubOnly, async () => {
  const { id } = await op('navigate', { url: at.site.url('/two'), new_tab: true }, 'follower');
  await op('navigate', { url: at.site.url('/three'), new_tab: true }, 'later');
  const asked = (session) => at.rest.ask('POST', '/browsers/default/tabs/current/evaluate', { body: { expression: 'location.pathname' }, headers: headers(session) });
  assert.equal((await asked('follower')).data.value, '/two');
  assert.equal((await asked()).data.value, '/three', 'the newest tab, as ever');
  await op('tabs', { action: 'close', tab: id }, 'later').catch(() => {});
  await op('tabs', { action: 'close' }, 'follower');
  assert.equal((await asked('follower')).data.value, '/three', 'a session without a tab has no other wish');
});

test('wrong requests are told by status, code and field', hubOnly, async () => {
  await op('navigate', { url: at.site.url('/') }, 'a');
  await fails(404, 'no_such_op', 'knot', {}, 'a');
  assert.match((await fails(400, 'bad_input', 'navigate', { url: 5 }, 'a')).message, /`url`/);
  assert.match((await fails(400, 'bad_input', 'navigate', { url: 'a.b', knot: 1 }, 'a')).message, /knot/);
  assert.match((await fails(400, 'bad_input', 'navigate', {}, 'a')).message, /url/);
  await fails(400, 'bad_input', 'wait_for', {}, 'a');
  await fails(404, 'no_such_tab', 'evaluate', { expression: '1' }, 'a', 'nowhere');
  await fails(422, 'page_threw', 'evaluate', { expression: 'throw new Error("knot")' }, 'a');
  await fails(408, 'timeout', 'evaluate', { expression: 'await new Promise(() => {})', timeout: 100 }, 'a');
  await fails(408, 'timeout', 'wait_for', { expression: 'false', timeout: 100 }, 'a');
  const { status, code } = await at.rest.refused('POST', '/browsers/nobody/ops/navigate', { body: { url: 'a.b' } });
  assert.deepEqual([status, code], [404, 'no_such_browser']);
  const list = await at.rest.refused('POST', '/browsers/default/ops/back', { body: '[1]' });
  assert.deepEqual([list.status, list.code], [400, 'bad_request']);
  const form = await at.rest.refused('POST', '/browsers/default/ops/back', { body: 'a', headers: { 'content-type': 'text/plain' } });
  assert.equal(form.status, 415);
  assert.equal((await at.rest.refused('GET', '/browsers/default/ops/back')).status, 405);
});

test('a client that hangs up calls off its op', hubOnly, async () => {
  await op('navigate', { url: at.site.url('/') }, 'hasty');
  const { hostname, port } = new URL(at.rest.base);
  const body = JSON.stringify({ url: at.site.url('/held') });
  const slow = request({
    host: hostname, port, method: 'POST', path: '/api/browsers/default/ops/navigate', agent: false,
    headers: { ...at.rest.headers(), ...headers('hasty'), 'content-type': 'application/json', 'content-length': body.length },
  }).on('error', () => {});
  slow.end(body);
  await until('the page is asked for', () => asked > 0);
  slow.destroy();
  // The next act on the tab does not wait for the one that nobody waits for.
  const { value, ms } = await timed(() => op('navigate', { url: at.site.url('/two') }, 'hasty'));
  assert.equal(value.title, 'two');
  assert.ok(ms < 10_000, `${ms} ms`);
});

test('every op is listed, and described with its fields', hubOnly, async () => {
  const ops = await at.rest.get('/ops');
  for (const name of ['navigate', 'back', 'forward', 'reload', 'wait_for', 'evaluate', 'tabs']) {
    assert.ok(ops.some((entry) => entry.name === name), name);
  }
  const { paths } = await at.rest.ask('GET', '/openapi.json').then(({ text }) => JSON.parse(text));
  for (const { name, tool, set, access, about, schema } of ops) {
    assert.ok(tool && set && about && ['read', 'act', 'dangerous'].includes(access), name);
    const { post } = paths[`/api/browsers/{name}/tabs/{tab}/ops/${name}`];
    const fields = post.requestBody.content['application/json'].schema.properties;
    assert.deepEqual(Object.keys(schema.properties).filter((field) => !fields[field]), [], name);
  }
});
