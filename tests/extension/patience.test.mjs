// How long a handshake may take: a person who compares codes has time, something that only pings has not.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { Browser } from './lib/browser.mjs';
import { FakeHub } from './lib/hub.mjs';
import { test } from '../e2e/lib/test.mjs';
import { until } from '../e2e/lib/until.mjs';

let hub;
let browser;

before(async () => {
  hub = await FakeHub.start({ greet: () => {} });
  browser = await Browser.start({ preset: { hub: hub.address } });
});

after(async () => {
  await browser?.stop();
  await hub?.stop();
});

const pongs = (link) => link.messages.filter(({ method }) => method === 'pong').length;

test('pings are answered from the beginning, and win no time', async () => {
  const link = await until('a connection', () => hub.links[0]);
  const pinging = setInterval(() => link.send('ping'), 500);
  link.closed.then(() => clearInterval(pinging));
  await link.closed;
  assert.ok(pongs(link) > 1);
});

test('the worker lives through 40 s of a pairing with the popup closed', { timeout: 70_000 }, async () => {
  let terminal;
  hub.greet = async (link, hello) => {
    hub.greet = () => {};
    terminal = Object.assign(await hub.pair(link, hello), { link });
  };
  const first = await browser.popup();
  await until('a code', async () => terminal && await first.text('#code') === terminal.code);
  await first.close();
  const { link } = terminal;
  // One ping every 5 s.
  await until('40 s have passed', () => pongs(link) >= 8 || link.socket.readyState !== link.socket.OPEN, 50_000, 200);
  assert.equal(link.socket.readyState, link.socket.OPEN);

  const second = await browser.popup();
  assert.equal(await second.text('#code'), terminal.code, 'the same worker, in the same pairing');
  await second.click('#confirm');
  await terminal.finish();
  await until('paired', async () => /Connected as chrome/.test(await second.text('#status')));
  await second.close();
});
