// Malformed and odd messages are answered exactly as Chromium answers them.
import assert from 'node:assert/strict';
import { test } from './lib/test.mjs';
import { Chromium } from './lib/chromium.mjs';
import { Cdp } from './lib/cdp.mjs';
import { fixture } from './lib/fixture.mjs';
import { Asker, FRAMES } from './lib/frames.mjs';

let plain;
const at = fixture({
  async open() {
    plain = await Chromium.start();
  },
  close: () => plain?.stop(),
});

async function newPage(target) {
  const cdp = await Cdp.connect(target.ws);
  const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
  await cdp.close();
  return targetId;
}

for (const page of [false, true]) {
  const where = page ? 'page' : 'browser';

  test(`${FRAMES.length} odd frames on the ${where} socket get Chromium's own answers`, async () => {
    const reference = new Asker(plain, { targetId: await newPage(plain), page });
    const ours = new Asker(at.target, { targetId: await newPage(at.target), page });
    const different = [];
    for (const frame of FRAMES) {
      const expected = await reference.ask(frame);
      const actual = await ours.ask(frame).catch((error) => ({ error: error.message }));
      try {
        assert.deepEqual(actual, expected);
      } catch {
        different.push({ frame: frame.slice(0, 120), expected, actual });
      }
    }
    await Promise.all([reference.close(), ours.close()]);
    assert.deepEqual(different, []);
  });

  test(`a binary frame on the ${where} socket ends that connection only`, async () => {
    const targetId = await newPage(at.target);
    const [doomed, other] = [new Asker(at.target, { targetId, page }), new Asker(at.target, { targetId, page })];
    await other.ask('{}');
    const { closed, answers } = await doomed.ask(Buffer.from('{"id":1,"method":"Browser.getVersion"}'), { binary: true });
    assert.ok(closed, `expected a close, got ${answers}`);
    assert.deepEqual(answers, []);
    assert.equal((await other.ask('{}')).closed, undefined);
    await other.close();
  });

  test(`text that is not UTF-8 on the ${where} socket never reaches the page`, async () => {
    const asker = new Asker(at.target, { targetId: await newPage(at.target), page });
    const { closed, answers } = await asker.ask(Buffer.from([0x22, 0xff, 0xfe, 0x22]));
    if (closed) assert.deepEqual(answers, []);
    else assert.match(answers[0], /-32700/);
    await asker.close();
  });
}

test('fragmented messages and pings are handled as one message and a pong', async () => {
  const cdp = await Cdp.connect(at.target.ws);
  const text = JSON.stringify({ id: 7, method: 'Nope.fragments' });
  cdp.socket.send(text.slice(0, 10), { fin: false });
  cdp.socket.send(text.slice(10, 20), { fin: false });
  cdp.socket.send(text.slice(20), { fin: true });
  await new Promise((resolve) => { cdp.on(({ id }) => id === 7 && resolve()); });
  const pong = new Promise((resolve) => cdp.socket.once('pong', resolve));
  cdp.socket.ping('knot');
  assert.equal((await pong).toString(), 'knot');
  await cdp.close();
});
