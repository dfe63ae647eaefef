// The parts that need no browser: what people type, the outbox, and the hello of both sides.
import assert from 'node:assert/strict';
import { parseHub, parseOrigin, parseOrigins } from '../../extension/origins.js';
import { Outbox } from '../../extension/outbox.js';
import { describe } from '../../extension/words.js';
import { test } from '../e2e/lib/test.mjs';

test('origins are taken in the four written forms and in no other', () => {
  for (const good of ['https://example.com', 'https://*.example.com', '*.example.com', 'example.com:8080', 'http://127.0.0.1:3000', 'localhost']) {
    assert.equal(parseOrigin(good), good);
  }
  assert.equal(parseOrigin(' HTTPS://Example.COM/ '), 'https://example.com');
  assert.equal(parseOrigin('bücher.example'), 'xn--bcher-kva.example');
  for (const bad of ['', 'https://', 'https://a/b', 'ftp://a', 'a b', '*', 'a.*.com', '*.', 'example.com:0', 'example.com:70000', 'javascript:alert(1)', 'a@b', 'https://a?b']) {
    assert.equal(parseOrigin(bad), undefined, bad);
  }
  assert.deepEqual(parseOrigins('a.com, b.com\na.com x/y'), { origins: ['a.com', 'b.com'], wrong: ['x/y'] });
});

test('the hub is always on this computer', () => {
  assert.equal(parseHub('http://127.0.0.1:9223'), 'http://127.0.0.1:9223');
  assert.equal(parseHub('localhost:9300/'), 'http://127.0.0.1:9300');
  for (const bad of ['http://example.com:9223', 'https://127.0.0.1:9223', '127.0.0.1.example.com:1', 'http://127.0.0.1:9223/x', 'http://a@127.0.0.1:1', 'http://192.168.0.1:9223', '']) {
    assert.equal(parseHub(bad), undefined, bad);
  }
});

test('the outbox is bounded by count and by size, and the oldest go', () => {
  const outbox = new Outbox();
  for (let i = 0; i < 1_005; i++) outbox.push(String(i));
  assert.equal(outbox.dropped, 5);
  const events = outbox.drain();
  assert.deepEqual([events.length, events[0], events.at(-1)], [1_000, '5', '1004']);
  assert.equal(outbox.dropped, 0);
  for (let i = 0; i < 5; i++) outbox.push(String(i).repeat(1024 * 1024));
  assert.equal(outbox.dropped, 1);
  assert.deepEqual(outbox.drain().map((text) => text[0]), ['1', '2', '3', '4']);
});

test('every status has words', () => {
  const more = { hub: 'http://127.0.0.1:9223', paused: false, driven: 2 };
  const statuses = [
    { kind: 'looking', why: '' }, { kind: 'unpaired', message: '' }, { kind: 'pairing', code: '123 456', confirmed: false },
    { kind: 'connected', name: 'chrome' }, { kind: 'refused', code: 'protocol_version', message: 'm', hint: 'h' }, { kind: 'impostor', why: 'w' },
  ];
  for (const status of statuses) {
    const { title, text } = describe(status, more);
    assert.ok(title && text, status.kind);
  }
});
