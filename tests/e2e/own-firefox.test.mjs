// A person's own Firefox, with the real extension in it: paired with a hub, worked in by agents and clients, and kept to the
// person's rules.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { Agent } from './lib/agent.mjs';
import { Bidi } from './lib/bidi.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { OwnFirefox } from './lib/own-firefox.mjs';
import { html } from './lib/site.mjs';
import { afterEach, test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const DEFAULTS = { mode: 'auto', readOnly: false, noNewTabs: false, allow: [], deny: [], allowCookies: false, allowFiles: false };
const STRICT = { 'content-security-policy': "default-src 'none'; script-src 'none'; style-src 'none'" };

let agent;
const at = fixture({
  target: false,
  pages: {
    '/form': html('form', `<h1>Order</h1><form id=f onsubmit="event.preventDefault(); document.title = 'sent ' + JSON.stringify(Object.fromEntries(new FormData(this)))">
      <label>Name <input name=name></label><label><input type=checkbox name=news> News</label>
      <label>Colour <select name=colour><option value=r>Red<option value=b>Blue</select></label><button>Send</button></form>
      <a href=/two>Next page</a> <a href=/two target=_blank>Another tab</a>`),
    '/strict': { headers: STRICT, body: '<!doctype html><title>strict</title><h1>Strict</h1><form action=/two><label>Name <input name=name></label><button>Go</button></form>' },
    '/away': (url) => ({ status: 302, headers: { location: `http://localhost:${url.port}/three?secret` }, body: '' }),
  },
  async open(here) {
    here.own = await OwnFirefox.start({ policy: DEFAULTS, pages: [here.site.url('/')] });
    agent = await Agent.of(here.own);
  },
  close: ({ own }) => own?.stop(),
});

afterEach(async () => {
  const { contexts } = await at.own.person.send('browsingContext.getTree', { maxDepth: 0 });
  for (const { context } of contexts.slice(2)) await at.own.person.send('browsingContext.close', { context }).catch(() => {});
  await at.own.setPolicy(DEFAULTS);
});

/** The person changes the rules; the hub hears of it a moment later. */
const inForce = (words, attempt) => until(`${words} is in force`, () => attempt().then(() => false, ({ message }) => message.includes(words)));

const addresses = async (client) => (await client.send('browsingContext.getTree', { maxDepth: 0 })).contexts.map(({ url }) => url);

test('it is there under its name, wants the token, and is not to be closed', hubOnly, async () => {
  const { browser } = await at.own.home.status('firefox');
  assert.deepEqual([browser.backend, browser.protocol, browser.needs_token, browser.state], ['extension', 'bidi', true, 'ready']);
  assert.match(browser.product, /^Firefox\/\d/);
  const { extensions: [listed] } = await at.own.home.json('extension', 'status');
  assert.deepEqual([listed.name, listed.connected, listed.browser.name], ['firefox', true, 'Firefox']);
  await assert.rejects(Bidi.connect(`ws://127.0.0.1:${at.own.hub.port}/b/firefox/session`), ({ status }) => status === 401);
  const client = await at.own.client();
  assert.ok((await addresses(client)).includes(at.site.url('/')), 'the person\'s tabs are there');
  await assert.rejects(client.send('browser.close'), ({ code }) => code === 'unsupported operation');
  await client.close();
});

test('an agent goes somewhere, looks, fills in, clicks, types and runs scripts', hubOnly, async () => {
  const there = await agent.open(at.site.url('/form'));
  assert.equal(there.title, 'form');
  const text = await agent.snapshot();
  for (const line of [/heading "Order" \[level=1\] \[ref=e\d+\]/, /textbox "Name" \[ref=e\d+\]/, /checkbox "News"/, /button "Send"/]) assert.match(text, line);
  await agent.op('fill', { target: await agent.ref('textbox "Name"'), value: 'Ada' });
  await agent.op('check', { target: 'label=News' });
  await agent.op('select_option', { target: 'label=Colour', values: ['Blue'] });
  await agent.op('click', { target: 'text=Send' });
  const title = await until('it was sent', async () => (await agent.op('get', { what: 'title' })).value.match(/^sent (.*)/)?.[1]);
  assert.deepEqual(JSON.parse(title), { name: 'Ada', news: 'on', colour: 'b' });
  await agent.op('click', { target: 'label=Name' });
  await agent.op('press_key', { key: 'Control+A' });
  await agent.op('type', { text: 'Grace' });
  assert.equal(await agent.value('f.elements.name.value'), 'Grace');
  assert.equal((await agent.op('click', { target: 'text=Next page' })).changes.url, at.site.url('/two'));
  assert.equal((await agent.op('back')).url, at.site.url('/form'));
  const picture = await agent.op('screenshot', {});
  assert.ok(JSON.stringify(picture).length > 100);
  assert.equal((await agent.refused('evaluate', { expression: 'nothingThere.at' })).code, 'page_threw');
});

test('a page with the strictest policy is worked in all the same, and keeps its policy', hubOnly, async () => {
  await agent.open(at.site.url('/strict'));
  assert.match(await agent.snapshot(), /heading "Strict"/);
  assert.equal(await agent.value('document.title + 1'), 'strict1');
  await agent.op('fill', { target: 'label=Name', value: 'x' });
  await agent.op('click', { target: 'text=Go' });
  await until('the form was sent', () => at.site.requests.includes('GET /two?name=x'));
});

test('cookies: a page\'s own, all only with the person\'s leave', hubOnly, async () => {
  await agent.open(at.site.url('/cookie'));
  const client = await at.own.client();
  const { contexts } = await client.send('browsingContext.getTree', { maxDepth: 0 });
  const { context } = contexts.find(({ url }) => url.endsWith('/cookie'));
  await assert.rejects(client.send('storage.getCookies', {}), /allow cookies/);
  const { cookies } = await client.send('storage.getCookies', { partition: { type: 'context', context } });
  assert.deepEqual(cookies.map(({ name, value }) => [name, value.value]), [['knot', 'bowline']]);
  await assert.rejects(client.send('storage.deleteCookies', {}), /allow cookies/);
  await at.own.setPolicy({ allowCookies: true });
  const all = await until('leave is given', () => client.send('storage.getCookies', {}).catch(() => false));
  assert.ok(all.cookies.some(({ name }) => name === 'knot'));
  await client.close();
});

test('files need the person\'s leave, and what is in them reaches the page', hubOnly, async () => {
  const file = join(at.own.home.root, 'note.txt');
  await writeFile(file, 'a bowline');
  const client = await at.own.client();
  const context = await client.tab(at.site.url('/uploads'));
  const { result: { sharedId } } = await client.send('script.evaluate', { expression: 'document.querySelector("#files")', target: { context }, awaitPromise: false });
  const give = () => client.send('input.setFiles', { context, element: { sharedId }, files: [file] });
  await assert.rejects(give(), /allow files/);
  await assert.rejects(client.send('browsingContext.navigate', { context, url: `file://${file}` }), /allow files/);
  await at.own.setPolicy({ allowFiles: true });
  await until('leave is given', () => give().then(() => true, ({ message }) => { if (!message.includes('allow files')) throw new Error(message); }));
  await until('the page has read it', async () => await client.evaluate('document.title', context) === 'note.txt=a bowline');
  await client.close();
});

test('read-only: what looks is done, what changes is refused, and it ends with the switch', hubOnly, async () => {
  await agent.open(at.site.url('/form'));
  await at.own.setPolicy({ readOnly: true });
  const client = await at.own.client();
  const { contexts } = await client.send('browsingContext.getTree', { maxDepth: 0 });
  const { context } = contexts.find(({ url }) => url.endsWith('/form'));
  await inForce('(read-only)', () => client.send('browsingContext.reload', { context }));
  assert.match(await agent.snapshot(), /textbox "Name"/);
  assert.ok(JSON.stringify(await agent.op('screenshot', {})).length > 100);
  assert.equal((await agent.op('get', { what: 'title' })).value, 'form');
  for (const [op, input] of [['fill', { target: 'label=Name', value: 'x' }], ['click', { target: 'text=Send' }], ['navigate', { url: at.site.url('/two') }],
    ['evaluate', { expression: 'document.title = "touched"' }], ['press_key', { key: 'a' }]]) {
    const { message } = await agent.refused(op, input);
    assert.match(message, /\(read-only\)/, op);
  }
  await assert.rejects(client.tab(), /\(read-only\)/);
  assert.equal(await client.evaluate('document.title', context), 'form');
  await at.own.setPolicy({ readOnly: false });
  await until('it is over', () => agent.open(at.site.url('/two')).then(() => true, () => false));
  await client.close();
});

test('a site that is denied is not gone to, and its tabs are not there', hubOnly, async () => {
  await at.own.open(`${at.site.other}/three?mine`);
  await at.own.setPolicy({ deny: [at.site.other] });
  const client = await at.own.client();
  await until('it is hidden', async () => !(await addresses(client)).some((url) => url.startsWith(at.site.other)));
  await client.send('session.subscribe', { events: ['browsingContext'] });
  const context = await client.tab(at.site.url('/two'));
  await assert.rejects(client.send('browsingContext.navigate', { context, url: `${at.site.other}/three` }), /denied sites/);
  await client.send('browsingContext.navigate', { context, url: at.site.url('/away'), wait: 'none' });
  await client.event('browsingContext.contextDestroyed', (info) => info.context === context);
  await assert.rejects(client.evaluate('document.title', context), ({ code }) => code === 'no such frame');
  await client.close();
});

test('manual mode: only tabs that the person has chosen, and those of agents', hubOnly, async () => {
  await at.own.open(at.site.url('/three?chosen'));
  await at.own.setPolicy({ mode: 'manual' });
  const client = await at.own.client();
  await until('nothing is there', async () => (await addresses(client)).length === 0);
  await at.own.choose('/three?chosen', true);
  await until('one is', async () => (await addresses(client)).join() === at.site.url('/three?chosen'));
  const context = await client.tab(at.site.url('/two'));
  assert.equal((await addresses(client)).length, 2);
  await at.own.choose('/three?chosen', false);
  await until('it was taken back', async () => (await addresses(client)).join() === at.site.url('/two'));
  await client.send('browsingContext.close', { context });
  await client.close();
});

test('two agents at once, each in a tab of its own', hubOnly, async () => {
  const [one, two] = [agent.as('one'), agent.as('two')];
  const work = async (who, path) => {
    await who.op('tabs', { action: 'new', url: at.site.url(path) });
    for (let turn = 0; turn < 5; turn++) {
      await who.op('fill', { target: 'label=Name', value: `${path} ${turn}` });
      assert.equal(await who.value('f.elements.name.value'), `${path} ${turn}`);
    }
    return who.value('location.search');
  };
  assert.deepEqual(await Promise.all([work(one, '/form?one'), work(two, '/form?two')]), ['?one', '?two']);
});

test('what agents did is written down, without what they typed', hubOnly, async () => {
  await agent.open(at.site.url('/form?secret'));
  await agent.op('fill', { target: 'label=Name', value: 'very-secret' });
  const audit = await readFile(join(at.own.home.state, 'bowline', 'audit.log'), 'utf8');
  const acts = audit.trim().split('\n').map((line) => JSON.parse(line));
  assert.ok(acts.some(({ browser, method, to }) => browser === 'firefox' && method === 'browsingContext.navigate' && to === at.site.url('/form')));
  assert.ok(!audit.includes('secret'));
});

test('what happens in agents\' tabs is remembered, with bodies; what the person does in others is not', hubOnly, async () => {
  await at.own.open(at.site.url('/console?mine'));
  await agent.open(at.site.url('/console?agents'));
  await until('the lines are recorded', async () => (await agent.op('console', { level: 'error' })).messages.some(({ text }) => text === 'broken'));
  await agent.value('fetch("/api").then((answer) => answer.text())');
  const request = await until('the request is recorded', async () => (await agent.op('network', { url: '/api$' })).requests.find(({ status }) => status === 200));
  assert.equal((await agent.op('body', { request: String(request.seq) })).body, '{"from":"server"}');
  const seen = JSON.stringify([await at.own.rest.get('/browsers/firefox/console'), await at.own.rest.get('/browsers/firefox/network')]);
  assert.ok(seen.includes('/console?agents') && !seen.includes('/console?mine'));
});

test('Puppeteer works in it over BiDi, beside the person\'s tabs', hubOnly, async () => {
  const browser = await puppeteer.connect({ browserWSEndpoint: at.own.session, protocol: 'webDriverBiDi', defaultViewport: null });
  assert.ok((await browser.pages()).some((page) => page.url() === at.site.url('/')));
  const page = await browser.newPage();
  const said = new Promise((resolve) => page.once('console', (message) => resolve(message.text())));
  await page.goto(at.site.url('/console'));
  assert.equal(await within(5_000, 'the console is heard', said), 'hello 42');
  assert.equal(await page.evaluate((one, two) => document.title + one + two, 1, 'x'), 'console1x');
  await page.goto(at.site.url('/form'));
  await page.type('input[name=name]', 'Ada');
  assert.equal(await page.$eval('input[name=name]', (field) => field.value), 'Ada');
  assert.ok((await page.screenshot()).length > 100);
  await page.close();
  await browser.disconnect();
});

test('pairing by code, and with one click: Firefox itself starts the host, and vouches for the extension', hubOnly, async () => {
  const own = await OwnFirefox.start({ paired: false });
  try {
    assert.equal((await own.home.failure('extension', 'pair')).exit, 2, 'nobody is at the terminal, but the pairing is open');
    const { status: { code: shown } } = await own.press({ wish: 'retry' }, ({ status }) => status.kind === 'pairing');
    const command = own.home.json('extension', 'pair', '--code', shown);
    await own.press({ wish: 'confirm' }, ({ status }) => status.kind === 'connected');
    assert.equal((await command).name, 'firefox');
    await own.home.json('extension', 'forget', 'firefox');

    const { state, data, runtime } = own.home;
    const env = { HOME: own.root, BOWLINE_STATE_DIR: join(state, 'bowline'), BOWLINE_DATA_DIR: join(data, 'bowline'), BOWLINE_RUNTIME_DIR: join(runtime, 'bowline') };
    const { code, stdout } = await own.home.run(['extension', 'install', '--firefox', '--native', '--json'], { env: { ...env, XDG_CONFIG_HOME: join(own.root, '.config') } });
    assert.equal(code, 0, stdout);
    const [{ path }] = JSON.parse(stdout).data.native.manifests;
    assert.equal(path, join(own.root, '.mozilla', 'native-messaging-hosts', 'dev.bowline.hub.json'));
    const view = await own.press({ wish: 'pairNatively' }, ({ status }) => status.kind === 'connected');
    assert.equal(view.status.name, 'firefox');
    own.name = 'firefox';
    await own.ready();
  } finally {
    await own.stop();
  }
});

test('an extension that is reloaded comes back by itself, and its clients begin anew', hubOnly, async () => {
  const client = await at.own.client();
  const context = await at.own.open(`${at.own.origin}/popup/popup.html`);
  const reloading = at.own.person.send('script.evaluate', { expression: 'browser.runtime.reload()', target: { context }, awaitPromise: false });
  // Its own page goes with it.
  await reloading.catch(() => {});
  await within(10_000, 'the client is told', client.closed);
  const again = await until('it is here again', () => at.own.client(), 20_000);
  assert.ok((await addresses(again)).includes(at.site.url('/')));
  await again.close();
});

test('a connection that broke: clients go on with what they have subscribed to', hubOnly, async () => {
  const client = await at.own.client();
  const context = await client.tab(at.site.url('/two'));
  await client.send('session.subscribe', { events: ['browsingContext', 'log'] });
  const since = async () => (await at.own.rest.get('/extensions')).extensions[0].since;
  const before = await since();
  // What the popup's "Try again" does: the extension drops its socket and dials anew.
  await at.own.press({ wish: 'retry' }, () => true);
  await until('it is here again', async () => await since() > before);
  await client.evaluate('console.log("still heard")', context);
  await client.event('log.entryAdded', ({ text }) => text === 'still heard');
  await client.send('browsingContext.navigate', { context, url: at.site.url('/three'), wait: 'complete' });
  assert.ok(client.events.some(({ method, params }) => method === 'browsingContext.load' && params.url === at.site.url('/three')));
  await client.close();
});

test('a hub that is killed and comes back finds it again, with its tabs', hubOnly, async () => {
  await agent.open(at.site.url('/two?before'));
  const client = await at.own.client();
  await at.own.restartHub();
  await within(10_000, 'the client has lost its hub', client.closed);
  await at.own.ready();
  agent = await Agent.of(at.own);
  const again = await at.own.client();
  assert.ok((await addresses(again)).includes(at.site.url('/two?before')));
  await agent.open(at.site.url('/form'));
  assert.match(await agent.snapshot(), /heading "Order"/);
  await again.close();
});
