// Who is obeyed: the hello in its good and bad ways, versions, and pairing with a code.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { Browser, EXTENSION_ID } from './lib/browser.mjs';
import { FakeHub, newInstance, newKey } from './lib/hub.mjs';
import { test } from '../e2e/lib/test.mjs';
import { until } from '../e2e/lib/until.mjs';

const key = newKey();
const instance = newInstance();
let hub;
let browser;

before(async () => {
  hub = await FakeHub.start({ key });
  browser = await Browser.start({ preset: { hub: hub.address, instance, key } });
});

after(async () => {
  await browser?.stop();
  await hub?.stop();
});

/** Ends the connection and lets `greet` answer the next ones; gives the first of them. */
async function next(greet) {
  hub.greet = greet;
  const from = hub.links.length;
  for (const { socket } of hub.links) socket.terminate();
  return until('the next connection', () => hub.links[from]);
}

const asUsual = (link, hello) => hub.welcome(link, hello);

test('the hello says who asks, and both proofs hold', async () => {
  const link = await hub.ready();
  assert.equal(link.origin, `chrome-extension://${EXTENSION_ID}`);
  assert.equal(link.url, `/extension?instance=${instance}`);
  const { params } = await link.message('hello');
  assert.deepEqual(
    { protocol: params.protocol, instance: params.instance, paired: params.paired },
    { protocol: 1, instance, paired: true });
  assert.equal(Buffer.from(params.nonce, 'base64url').length, 32);
  assert.match(params.browser.version, /^\d+\.\d+\.\d+\.\d+$/);
  assert.deepEqual(link.messages.map(({ method }) => method).slice(0, 3), ['hello', 'proof', 'state']);
});

test('a hub that does not know the key is obeyed in nothing', async () => {
  let answered;
  const link = await next(async (bad, hello) => {
    hub.greet = () => {};
    // Everything a squatter could try in one go, without waiting for leave.
    bad.on((message) => { if (message.id !== undefined) answered = message; });
    bad.socket.send(JSON.stringify([{ id: 1, method: 'listTabs' }, { method: 'welcome', params: { name: 'x' } }]));
    await hub.welcome(bad, hello, { key: newKey() }).catch(() => {});
  });
  await link.closed;
  assert.equal(answered, undefined);
  assert.ok(!link.messages.some(({ method }) => method === 'proof' || method === 'state'));
  const popup = await browser.popup();
  await until('the popup tells', async () => /Something else answers/.test(await popup.text('#status')));
  await popup.close();
});

test('the hub itself is not believed through somebody who listens at another port and passes its proof on', async () => {
  const link = await next(async (bad, hello) => {
    hub.greet = () => {};
    await hub.welcome(bad, hello, { port: hub.port - 1 }).catch(() => {});
  });
  await link.closed;
  assert.ok(!link.messages.some(({ method }) => method === 'proof' || method === 'state'));
});

test('a welcome without a proof is not taken', async () => {
  const link = await next((bad) => { hub.greet = () => {}; bad.send('welcome', { name: 'x' }); });
  await link.closed;
  assert.ok(!link.messages.some(({ method }) => method === 'state'));
});

test('a paired extension is not talked into a new pairing', async () => {
  const link = await next((bad, hello) => { hub.greet = () => {}; hub.pair(bad, hello).catch(() => {}); });
  await link.closed;
  assert.ok(!link.messages.some(({ method }) => method === 'pair'));
});

test('a hub of another version is told apart from a broken one', async () => {
  await next((link) => hub.refuse(link, 'protocol_version', 'The hub (0.9.0) speaks protocol 2, the extension 1.', 'Update the extension, which is older.'));
  const popup = await browser.popup();
  await until('the popup tells', async () => /The versions differ[^]*protocol 2[^]*Update the extension/.test(await popup.text('#status')));
  await popup.close();
  const link = await next(async (other, hello) => { hub.greet = asUsual; await hub.welcome(other, hello, { protocol: 2 }).catch(() => {}); });
  await link.closed;
  assert.ok(!link.messages.some(({ method }) => method === 'proof'));
});

test('409 and 403 are explained to the person', async () => {
  const popup = await browser.popup();
  for (const [status, words] of [[409, /Connected from elsewhere/], [403, /does not know this extension/]]) {
    hub.upgrade = () => status;
    for (const { socket } of hub.links) socket.terminate();
    await until(`${status} in words`, async () => words.test(await popup.text('#status')));
  }
  hub.upgrade = undefined;
  await until('connected again', async () => /Connected as chrome/.test(await popup.text('#status')));
  await popup.close();
});

test('a pairing with a code ends in a key that both know, on the same connection', async () => {
  const popup = await browser.popup();
  await popup.click('#unpair');
  hub.greet = (link) => hub.refuse(link, 'not_paired', 'No pairing is open.');
  await until('unpaired', async () => /Not paired yet/.test(await popup.text('#status')));

  let terminal;
  hub.greet = async (link, hello) => {
    assert.equal(hello.paired, false);
    terminal = await hub.pair(link, hello);
    hub.greet = (later, again) => hub.welcome(later, again, { key: terminal.key });
    await terminal.finish();
  };
  await until('a code', async () => /^\d{3} \d{3}$/.test(await popup.text('#code')));
  assert.equal(await popup.text('#code'), terminal.code);
  await popup.click('#confirm');
  await until('paired', async () => /Connected as chrome/.test(await popup.text('#status')));

  // The key is kept: the next connection proves it.
  const connections = hub.links.length;
  hub.links.at(-1).socket.terminate();
  await until('the key is used', () => hub.links[connections]?.messages.some(({ method }) => method === 'state'));
  await popup.close();
});

test('a key other than the one committed to ends the pairing', async () => {
  const popup = await browser.popup();
  await popup.click('#unpair');
  hub.greet = async (link) => {
    link.send('commit', { commitment: newKey() });
    await link.message('pair');
    link.send('reveal', { publicKey: newKey(), nonce: newKey() });
  };
  await until('the popup tells', async () => /another key than it had promised/.test(await popup.text('#status')));
  await popup.close();
});
