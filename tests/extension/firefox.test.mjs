// The person's own Firefox: contexts, navigation and scripts, also in pages that forbid scripts of others.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { html } from '../e2e/lib/site.mjs';
import { test } from '../e2e/lib/test.mjs';
import { until } from '../e2e/lib/until.mjs';
import { closedPort, OwnFirefox, plain } from './lib/own-firefox.mjs';

/** No script but the one with the nonce, no `eval`, no text that becomes a script; what breaks it is told to the site. */
const STRICT = "default-src 'none'; img-src 'self'; script-src 'nonce-knot'; connect-src 'self'; require-trusted-types-for 'script'; report-uri /report";
const PAGES = {
  '/strict': {
    headers: { 'content-security-policy': STRICT },
    body: `<!doctype html><title>strict</title><script nonce=knot>
      window.violations = []; document.addEventListener('securitypolicyviolation', (event) => { violations.push(event.violatedDirective + ' ' + event.blockedURI); });
      window.lengthOf = (list) => list.length; window.thing = { a: [1, { b: 2 }] };</script><button id=go>go</button>`,
  },
  '/meta': `<!doctype html><title>meta</title><meta http-equiv=Content-Security-Policy content="script-src 'nonce-knot'"><script nonce=knot>
      window.violations = []; document.addEventListener('securitypolicyviolation', (event) => { violations.push(event.violatedDirective + ' ' + event.blockedURI); });</script>`,
  '/report': { body: '' },
  '/sandboxed': html('sandboxed', '<iframe id=srcdoc srcdoc="<title>inside</title><p id=p>inside</p>"></iframe>'),
};

let own;

const ask = (...given) => own.ask(...given);

before(async () => { own = await OwnFirefox.start({ pages: PAGES }); });
after(async () => { await own?.stop(); });

test('the hello says that BiDi is spoken, and the state that the session is a new one', () => {
  const { params: hello } = own.link.messages.find(({ method }) => method === 'hello');
  assert.equal(hello.speaks, 'bidi');
  assert.equal(hello.browser.name, 'Firefox');
  const { params: state } = own.link.messages.find(({ method }) => method === 'state');
  assert.deepEqual([state.session, state.tabs], ['fresh', []]);
  assert.match(own.link.origin, /^moz-extension:/);
});

test('a navigation is told in its steps, and each context once', async () => {
  const context = await own.open('/frames');
  const { contexts: [tab] } = await ask('browsingContext.getTree', { root: context });
  assert.equal(tab.url, `${own.site.origin}/frames`);
  assert.deepEqual(tab.children.map(({ url }) => url).sort(), [`${own.site.origin}/frame?same`, `${own.site.other}/frame?other`].sort());
  assert.equal(tab['bowline:chosen'], false);
  const steps = own.link.messages.filter(({ method, params }) => method === 'bidiEvent' && params.params.context === context)
    .map(({ params }) => [params.method, params.params.url]).filter(([, url]) => url.endsWith('/frames')).map(([method]) => method.replace('browsingContext.', ''));
  assert.deepEqual(steps, ['navigationStarted', 'navigationCommitted', 'domContentLoaded', 'load']);
  for (const { context: frame } of tab.children) {
    assert.equal(own.events('browsingContext.contextCreated').filter((told) => told.context === frame && told.parent === context).length, 1);
  }
  await ask('browsingContext.close', { context });
  await own.event('browsingContext.contextDestroyed', (told) => told.context === context);
  for (const { context: frame } of tab.children) await own.event('browsingContext.contextDestroyed', (told) => told.context === frame);
  await assert.rejects(ask('browsingContext.activate', { context }), { code: 'no such frame' });
});

test('scripts run in both worlds of a page that forbids them, and the page is not told', async () => {
  for (const path of ['/strict', '/meta']) {
    const context = await own.open(path);
    assert.equal(await own.evaluate(context, 'document.title'), path.slice(1));
    assert.equal(await own.evaluate(context, 'const one = 1; one + 1'), 2);
    assert.equal(await own.evaluate(context, 'document.title', 'bowline'), path.slice(1));
    assert.equal(await own.evaluate(context, 'globalThis.kept = 5; kept', 'bowline'), 5);
    assert.equal(await own.evaluate(context, 'typeof kept'), 'undefined');
    assert.deepEqual(await own.evaluate(context, 'violations'), []);
    assert.equal(await own.evaluate(context, 'document.scripts.length'), 1);
    await assert.rejects(own.evaluate(context, '1 +'), /^Error: SyntaxError/);
    await assert.rejects(own.evaluate(context, '(() => { throw new TypeError("knot"); })()'), /TypeError: knot/);
  }
  assert.ok(!own.site.requests.some((one) => one.includes('/report')));
  const context = await own.open('/strict');
  assert.deepEqual(await own.evaluate(context, 'thing'), { a: [1, { b: 2 }] });
  assert.equal(await own.evaluate(context, 'lengthOf([1, 2, 3])'), 3);
  assert.equal(await own.evaluate(context, 'fetch("/api").then((answer) => answer.json()).then((told) => told.from)'), 'server');
  assert.equal(await own.evaluate(context, 'new Promise((_, no) => no(new Error("slipped"))).catch((error) => error.message)'), 'slipped');
});

test('values and nodes go between the worlds as BiDi writes them', async () => {
  const context = await own.open('/frames');
  const button = await own.node(context, '#same');
  const { result } = await ask('script.callFunction', {
    functionDeclaration: '(element, more) => [element.id, more.list.length, window.frames[1], null, undefined, NaN, -0, 5n, new Map([["a", 1]]), /x/g, document.body, element]',
    arguments: [button, { type: 'object', value: [['list', { type: 'array', value: [{ type: 'number', value: 1 }] }]] }], target: { context }, awaitPromise: true,
  });
  const [id, length, frame, none, missing, nan, minus, big, map, pattern, body, element] = result.value;
  assert.deepEqual([id.value, length.value, none.type, missing.type, nan.value, minus.value, big.value], ['same', 1, 'null', 'undefined', 'NaN', '-0', '5']);
  assert.deepEqual(map, { type: 'map', value: [['a', { type: 'number', value: 1 }]] });
  assert.deepEqual(pattern.value, { pattern: 'x', flags: 'g' });
  assert.equal(body.value.localName, 'body');
  assert.equal(element.sharedId, button.sharedId);
  const { contexts: [tab] } = await ask('browsingContext.getTree', { root: context });
  assert.equal(frame.value.context, tab.children.find(({ url }) => url.includes('other')).context);
  const thrown = await ask('script.evaluate', { expression: 'function knot() { throw new Error("slipped"); } knot()', target: { context }, awaitPromise: false });
  assert.equal(thrown.type, 'exception');
  assert.equal(thrown.exceptionDetails.text, 'Error: slipped');
  assert.equal(thrown.exceptionDetails.stackTrace.callFrames[0].functionName, 'knot');
});

test('scripts run in frames, of another origin and of none', async () => {
  const context = await own.open('/frames');
  const { contexts: [tab] } = await ask('browsingContext.getTree', { root: context });
  for (const { context: frame, url } of tab.children) {
    assert.equal(await own.evaluate(frame, 'location.href'), url);
    assert.equal(await own.evaluate(frame, 'document.title', 'bowline'), 'frame');
  }
  const outer = await own.open('/sandboxed');
  const inner = await until('the frame is told', async () => (await ask('browsingContext.getTree', { root: outer })).contexts[0].children[0]);
  assert.equal(await own.evaluate(inner.context, 'document.querySelector("#p").textContent', 'bowline'), 'inside');
});

test('the sandbox has none of the powers of the extension', async () => {
  const context = await own.open('/');
  assert.deepEqual(await own.evaluate(context, '[typeof browser, typeof chrome, typeof globalThis.browser, typeof bowlineParts]', 'bowline'), ['undefined', 'undefined', 'undefined', 'undefined']);
  const address = JSON.stringify(`${own.site.other}/api`);
  for (const how of ['fetch', 'window.fetch', 'content.fetch']) {
    assert.equal(await own.evaluate(context, `${how}(${address}).then(() => 'read', () => 'refused')`, 'client'), 'refused', how);
  }
  for (const how of ['XMLHttpRequest', 'window.XMLHttpRequest', 'content.XMLHttpRequest']) {
    const request = `new Promise((done) => { const one = new ${how}(); one.onload = () => done('read'); one.onerror = () => done('refused'); one.open('GET', ${address}); one.send(); })`;
    assert.equal(await own.evaluate(context, request, 'client'), 'refused', how);
  }
});

test('history, fragments, reloads and failures are told', async () => {
  const context = await own.open('/');
  await ask('browsingContext.navigate', { context, url: `${own.site.origin}/two`, wait: 'complete' });
  await ask('browsingContext.traverseHistory', { context, delta: -1 });
  await until('it is back', async () => await own.evaluate(context, 'document.title').catch(() => '') === 'home');
  await assert.rejects(ask('browsingContext.traverseHistory', { context, delta: -5 }), { code: 'no such history entry' });
  await ask('browsingContext.navigate', { context, url: `${own.site.origin}/#knot`, wait: 'complete' });
  await own.event('browsingContext.fragmentNavigated', (told) => told.context === context && told.url.endsWith('#knot'));
  await own.evaluate(context, 'history.pushState({}, "", "/pushed")');
  await own.event('browsingContext.historyUpdated', (told) => told.url.endsWith('/pushed'));
  await ask('browsingContext.navigate', { context, url: `${own.site.origin}/three`, wait: 'complete' });
  await ask('browsingContext.reload', { context, wait: 'complete' });
  assert.equal(own.site.requests.filter((one) => one === 'GET /three').length, 2);
  await assert.rejects(ask('browsingContext.navigate', { context, url: 'http://127.0.0.1:1/', wait: 'complete' }), { code: 'unknown error' });
  await assert.rejects(ask('browsingContext.navigate', { context, url: `http://127.0.0.1:${await closedPort()}/`, wait: 'complete' }), /NS_ERROR_CONNECTION_REFUSED/);
});

test('pages of the extension and of Firefox itself are closed to the hub', async () => {
  const origin = own.link.origin;
  const context = await own.open('/');
  await assert.rejects(ask('browsingContext.navigate', { context, url: `${origin}/popup/popup.html` }), /closed to agents/);
  await assert.rejects(ask('browsingContext.navigate', { context, url: 'about:config' }), { code: 'unsupported operation' });
  const { contexts } = await ask('browsingContext.getTree', {});
  const home = contexts.find(({ url }) => url.startsWith('about:') && url !== 'about:blank');
  assert.ok(home, 'Firefox has begun with a page of its own');
  assert.notEqual(await own.evaluate(home.context, 'document.title'), '', 'its title is in the tab bar');
  await assert.rejects(own.evaluate(home.context, '1'), { code: 'unsupported operation' });
  const popup = await own.firefox.popup(origin);
  const told = await ask('browsingContext.getTree', {});
  assert.ok(!told.contexts.some(({ url }) => url.startsWith('moz-extension:')));
  await popup.close();
});

test('what an extension cannot do is said in words, and what nobody knows is unknown', async () => {
  await assert.rejects(ask('emulation.setLocaleOverride', { locale: 'de' }), { code: 'unsupported operation' });
  await assert.rejects(ask('browsingContext.print', {}), { code: 'unsupported operation' });
  await assert.rejects(ask('knots.tie', {}), { code: 'unknown command' });
  await assert.rejects(ask('session.subscribe', { events: ['knots'] }), { code: 'invalid argument' });
});

test('a preload script runs before the page, in its own world alone', async () => {
  const { script } = await ask('script.addPreloadScript', { functionDeclaration: '() => { window.early = 7; }' });
  await assert.rejects(ask('script.addPreloadScript', { functionDeclaration: '() => {}', sandbox: 'mine' }), { code: 'unsupported operation' });
  const context = await own.open('/two');
  assert.equal(await own.evaluate(context, 'sawEarly'), 7);
  assert.equal(await own.evaluate(context, 'typeof browser + typeof chrome', 'bowline'), 'undefinedundefined');
  await ask('script.removePreloadScript', { script });
  await ask('browsingContext.navigate', { context, url: `${own.site.origin}/two?again`, wait: 'complete' });
  assert.equal(await own.evaluate(context, 'typeof sawEarly'), 'undefined');
});

test('a channel tells the hub what a page says to it', async () => {
  const context = await own.open('/');
  await ask('session.subscribe', { events: ['script.message'] });
  await ask('script.callFunction', {
    functionDeclaration: '(say) => { say({ knot: "bowline" }); }', arguments: [{ type: 'channel', value: { channel: 'knots' } }], target: { context }, awaitPromise: true,
  });
  const { channel, data, source } = await own.event('script.message');
  assert.deepEqual([channel, plain(data), source.context], ['knots', { knot: 'bowline' }, context]);
});
