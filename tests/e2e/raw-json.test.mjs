// The /json endpoints, side by side with a plain Chromium's.
import assert from 'node:assert/strict';
import { test } from './lib/test.mjs';
import { Chromium } from './lib/chromium.mjs';
import { Cdp } from './lib/cdp.mjs';
import { fixture } from './lib/fixture.mjs';
import { getJson, http } from './lib/http.mjs';
import { until } from './lib/until.mjs';

let plain;
const at = fixture({
  async open() {
    plain = await Chromium.start();
  },
  close: () => plain?.stop(),
});

/** What must be the same on both: ids and ports differ by nature. */
function face({ status, headers, text }, { port }) {
  return {
    status,
    type: headers['content-type'],
    body: text
      .replaceAll(/\b[0-9A-F]{32}\b/g, 'ID')
      .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UUID')
      .replaceAll(`:${port}/`, ':PORT/'),
  };
}

async function same(path, options) {
  const [ours, theirs] = await Promise.all([at.target, plain].map(async (target) =>
    face(await http(target.endpoint, path, options), target)));
  assert.deepEqual(ours, theirs);
  return theirs;
}

const answersAlike = [
  ['GET', '/json/version'], ['GET', '/json/version/'], ['POST', '/json/version'],
  ['GET', '/json/new'], ['POST', '/json/new'], ['GET', '/json/new?about:blank'],
  ['PUT', '/json/new'], ['PUT', '/json/new?about:blank'], ['PUT', '/json/new?not%20a%20url'],
  ['PUT', '/json/new?http://127.0.0.1:1/a%20b'],
  ['GET', '/json/activate/NOPE'], ['GET', '/json/activate'], ['GET', '/json/activate/'],
  ['GET', '/json/close/NOPE'], ['GET', '/json/close'], ['GET', '/json/close/'],
  ['GET', '/json/nonsense'], ['GET', '/json/nonsense/x'], ['GET', '/json/'], ['GET', '/jsonx'],
];
for (const [method, path] of answersAlike) {
  test(`${method} ${path} answers as Chromium does`, () => same(path, { method }));
}

test('an unknown path is 404', async () => {
  assert.equal((await http(at.target.endpoint, '/nope')).status, 404);
});

for (const path of ['/json', '/json/list', '/json/list/']) {
  test(`GET ${path} lists pages with Chromium's fields`, async () => {
    const [ours, theirs] = await Promise.all([at.target, plain].map((t) => http(t.endpoint, path)));
    assert.equal(ours.status, theirs.status);
    assert.equal(ours.headers['content-type'], theirs.headers['content-type']);
    const blank = (answer) => answer.json().find(({ type, url }) => type === 'page' && url === 'about:blank');
    assert.deepEqual(Object.keys(blank(ours)), Object.keys(blank(theirs)));
    // The same layout: an array of objects with three spaces of indent.
    assert.equal(ours.text.slice(0, 20), theirs.text.slice(0, 20));
    assert.equal(ours.text.slice(-4), theirs.text.slice(-4));
  });
}

test('/json/list?for_tab lists tabs as well', async () => {
  const types = (list) => [...new Set(list.map(({ type }) => type))].sort();
  const [ours, theirs] = await Promise.all([at.target, plain].map((t) => getJson(t.endpoint, '/json/list?for_tab')));
  assert.deepEqual(types(ours), types(theirs));
});

test('/json/protocol describes the protocol', async () => {
  const [ours, theirs] = await Promise.all([at.target, plain].map((t) => http(t.endpoint, '/json/protocol')));
  assert.equal(ours.status, 200);
  assert.equal(ours.headers['content-type'], theirs.headers['content-type']);
  const names = (answer) => answer.json().domains.map(({ domain }) => domain).sort();
  assert.deepEqual(ours.json().version, theirs.json().version);
  for (const name of ['Browser', 'Page', 'Runtime', 'Network', 'Target', 'DOM', 'Fetch', 'Input']) {
    assert.ok(names(ours).includes(name), name);
  }
  assert.ok(ours.text.length > 1_000_000, `${ours.text.length} bytes`);
});

test('addresses echo the Host that was asked for', async () => {
  const host = `localhost:${at.target.port}`;
  const version = await getJson(at.target.endpoint, '/json/version', { headers: { host } });
  assert.ok(version.webSocketDebuggerUrl.startsWith(`ws://${host}/devtools/browser/`));
  const [first] = await getJson(at.target.endpoint, '/json/list', { headers: { host } });
  assert.equal(first.webSocketDebuggerUrl, `ws://${host}/devtools/page/${first.id}`);
});

test('a page is made, listed, activated and closed', async () => {
  const { endpoint } = at.target;
  const url = at.site.url('/two?listed');
  const made = await getJson(endpoint, `/json/new?${url}`, { method: 'PUT' });
  assert.equal(made.type, 'page');
  const listed = await until('the page with its title in the list', async () =>
    (await getJson(endpoint, '/json/list')).find(({ id, title }) => id === made.id && title === 'two'));
  assert.equal(listed.url, url);
  const activated = await http(endpoint, `/json/activate/${made.id}`);
  assert.deepEqual([activated.status, activated.text], [200, 'Target activated']);
  const closed = await http(endpoint, `/json/close/${made.id}`);
  assert.deepEqual([closed.status, closed.text], [200, 'Target is closing']);
  await until('the page gone from the list', async () =>
    !(await getJson(endpoint, '/json/list')).some(({ id }) => id === made.id));
  const again = await http(endpoint, `/json/close/${made.id}`);
  assert.deepEqual([again.status, again.text], [404, `No such target id: ${made.id}`]);
});

test('an encoded URL of /json/new is decoded once', async () => {
  const url = at.site.url('/two?a=1&b=%20');
  const made = await getJson(at.target.endpoint, `/json/new?${encodeURIComponent(url)}`, { method: 'PUT' });
  assert.equal(made.url, url);
  await http(at.target.endpoint, `/json/close/${made.id}`);
});

test('WebSockets to unknown ids are refused with Chromium\'s status', async () => {
  for (const path of ['/devtools/page/nope', '/devtools/browser/nope', '/devtools/nope', '/nope']) {
    const refusals = await Promise.all([at.target, plain].map(async ({ port }) => {
      const refused = await Cdp.connect(`ws://127.0.0.1:${port}${path}`).catch((error) => error);
      return refused.status;
    }));
    assert.equal(refusals[0], refusals[1], path);
  }
});

test('the browser answers on its address whatever the Host', async () => {
  const { pathname } = new URL(at.target.ws);
  for (const host of ['127.0.0.1', 'localhost']) {
    const cdp = await Cdp.connect(`ws://${host}:${at.target.port}${pathname}`, { family: 4 });
    assert.ok((await cdp.send('Browser.getVersion')).product);
    await cdp.close();
  }
});
