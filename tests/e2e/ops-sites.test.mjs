// Lists of sites: navigation, redirects, links, frames, popups and fetches stay within them, for agents and clients alike.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { test } from './lib/test.mjs';
import { Agent } from './lib/agent.mjs';
import { OWN, OWN_FIREFOX } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { html, js } from './lib/site.mjs';
import { until } from './lib/until.mjs';

let agent;
const at = fixture({
  env: { BOWLINE_SITES_ALLOW: '127.0.0.1' },
  pages: {
    '/away': (url) => ({ status: 302, headers: { location: `http://localhost:${url.port}/two` }, body: '' }),
    '/asks.js': (url) => js(`onconnect = (e) => fetch('http://localhost:${url.port}/echo?worker', { mode: 'no-cors' })
      .then(() => e.ports[0].postMessage('came'), () => e.ports[0].postMessage('refused'));`),
    '/links': (url) => html('links', `<a href="http://localhost:${url.port}/two">out</a>
      <button onclick="window.open('http://localhost:${url.port}/two?popup')">popup</button>`),
  },
  async open({ target }) { agent = await Agent.of(target); },
});
const outside = (path) => `${at.site.other}${path}`;

test('an address outside is refused before anything is fetched', async () => {
  for (const refused of [
    await agent.refused('navigate', { url: outside('/two') }),
    await agent.refused('tabs', { action: 'new', url: outside('/two') }),
  ]) {
    assert.deepEqual([refused.status, refused.code], [403, 'forbidden']);
    assert.match(refused.message, /localhost/);
  }
  await agent.open(at.site.url('/two'));
  assert.equal((await agent.refused('fetch', { url: outside('/api') })).code, 'forbidden');
  assert.equal((await agent.op('fetch', { url: '/api' })).status, 200);
});

test('what scripts ask for stays inside, also after a redirect', async () => {
  await agent.open(at.site.url('/two'));
  const before = at.site.requests.length;
  assert.equal((await agent.refused('fetch', { url: '/away' })).code, 'navigation_failed');
  const asked = `Promise.all([fetch('${outside('/api')}', { mode: 'no-cors' }).then(() => 'came', () => 'refused'),
    new Promise((done) => { const x = new XMLHttpRequest(); x.onload = () => done('came'); x.onerror = () => done('refused'); x.open('GET', '/away'); x.send(); }),
    fetch('/api').then((r) => r.status)])`;
  assert.deepEqual(await agent.value(asked), ['refused', 'refused', 200]);
  // Workers that belong to no page in particular have their own way out.
  // A Firefox has none where there are lists.
  const shared = `globalThis.SharedWorker === undefined ? 'refused' : new Promise((done) => { const w = new SharedWorker('/asks.js'); w.port.onmessage = (e) => done(e.data); w.port.start(); })`;
  if (!OWN && !OWN_FIREFOX) assert.equal(await agent.value(shared), 'refused');
  await agent.value(`navigator.sendBeacon('${outside('/echo?beacon')}', 'x')`);
  await agent.value(`fetch('/api?after').then((r) => r.status)`);
  assert.deepEqual(at.site.requests.slice(before).filter((line) => /\/two\b|beacon|GET \/api$/.test(line)), ['GET /api']);
});

test('redirects, links, frames and popups stay inside', async () => {
  assert.equal((await agent.refused('navigate', { url: at.site.url('/away') })).code, 'navigation_failed');
  await agent.open(at.site.url('/links'));
  await agent.op('click', { target: 'text=out' });
  await until('the page has not left', async () => !(await agent.op('get', { what: 'url' })).value.startsWith(at.site.other));
  await agent.open(at.site.url('/frames'));
  const text = await agent.snapshot();
  assert.equal(text.split('button "hit"').length, 2, 'only the frame of the same site has content');
  await agent.open(at.site.url('/links'));
  const { changes } = await agent.op('click', { target: 'text=popup' });
  if (OWN || OWN_FIREFOX) {
    // A person's browser opens it, but such a tab is nothing that agents can see.
    assert.ok((changes.new_tabs ?? []).every((tab) => !tab.url.startsWith(at.site.other)));
    assert.ok((await agent.op('tabs')).tabs.every((tab) => !tab.url.startsWith(at.site.other)));
    return;
  }
  const popup = changes.new_tabs[0].tab;
  await until('the refusal is in its console', async () => JSON.stringify(await agent.op('console', {}, popup)).includes('Refused by policy'));
  assert.equal((await agent.op('evaluate', { expression: 'document.title' }, popup)).value === 'two', false);
});

test('CDP clients are kept inside too', async () => {
  const browser = await chromium.connectOverCDP(at.target.endpoint);
  try {
    const [context] = browser.contexts();
    const page = await context.newPage();
    await assert.rejects(page.goto(outside('/two')), /ERR_BLOCKED_BY_CLIENT|Refused by policy/);
    const other = await context.newPage();
    assert.equal((await other.goto(at.site.url('/two'))).status(), 200);
  } finally {
    await browser.close();
  }
});
