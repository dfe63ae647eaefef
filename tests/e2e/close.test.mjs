// How a WebSocket ends when the client wants it: with a closing frame in answer, never cut off.
import assert from 'node:assert/strict';
import WebSocket from 'ws';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { http } from './lib/http.mjs';
import { test } from './lib/test.mjs';
import { until, within } from './lib/until.mjs';

const at = fixture();

/** Closes and gives the code of the closing frame that came back; 1006 means that none did. */
async function codeAfter(cdp, ...close) {
  cdp.socket.close(...close);
  return (await within(5_000, 'closed', cdp.closed)).code;
}

const pageSocket = async () => (await http(at.target.endpoint, '/json/new?about:blank', { method: 'PUT' })).json().webSocketDebuggerUrl;

for (const [what, url] of [['browser', () => at.target.ws], ['page', pageSocket]]) {
  test(`a closing frame on a ${what} socket is answered with one`, async () => {
    const address = await url();
    for (const close of [[1000], [1000, 'done'], []]) {
      const cdp = await Cdp.connect(address);
      await cdp.send('Runtime.enable').catch(() => {});
      const code = await codeAfter(cdp, ...close);
      assert.ok([1000, 1005].includes(code), `close(${close}): ${code}`);
    }
  });
}

test('a closing frame right after the handshake is answered', async () => {
  const codes = await Promise.all(Array.from({ length: 20 }, async () => codeAfter(await Cdp.connect(at.target.ws), 1000)));
  assert.deepEqual(codes.filter((code) => ![1000, 1005].includes(code)), []);
});

test('a closing frame in the midst of commands and events is answered', async () => {
  for (let i = 0; i < 5; i++) {
    const cdp = await Cdp.connect(at.target.ws);
    const { targetId, sessionId } = await cdp.page();
    await cdp.send('Runtime.enable', {}, sessionId);
    cdp.evaluate('new Promise(() => {})', sessionId).catch(() => {});
    cdp.evaluate('setInterval(() => { for (let i = 0; i < 100; i++) console.log("x".repeat(1000)); }, 1); 0', sessionId).catch(() => {});
    await cdp.event('Runtime.consoleAPICalled');
    cdp.record = false;
    const code = await codeAfter(cdp, 1000);
    assert.ok([1000, 1005].includes(code), `${code}`);
    await http(at.target.endpoint, `/json/close/${targetId}`);
  }
});

test('the hub closes the connection after the frames, without waiting for the client to do it', async () => {
  const cdp = await Cdp.connect(at.target.ws);
  const ended = new Promise((resolve) => cdp.socket._socket.once('end', resolve));
  cdp.socket.close(1000);
  await within(2_000, 'the end of the stream', ended);
});

test('a client that has closed is no longer counted', hubOnly, async () => {
  const cdp = await Cdp.connect(at.target.ws);
  assert.equal((await at.target.home.status()).browser.clients, 1);
  await cdp.close();
  await until('no client left', async () => (await at.target.home.status()).browser.clients === 0, 2_000);
});

test('a ping is answered with its own payload', async () => {
  const cdp = await Cdp.connect(at.target.ws);
  const pong = new Promise((resolve) => cdp.socket.once('pong', (data) => resolve(data.toString())));
  cdp.socket.ping('knot');
  assert.equal(await within(5_000, 'a pong', pong), 'knot');
  assert.equal(cdp.socket.readyState, WebSocket.OPEN);
  await cdp.close();
});
