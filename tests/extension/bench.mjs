// What the relay costs: the same loops inside a bare service worker (the floor of chrome.debugger),
// through a bare echo over a socket (the floor of any relay), and through ours, in turns.
// `node bench.mjs [ROUNDS]`
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Browser } from './lib/browser.mjs';
import { FakeHub, newInstance, newKey } from './lib/hub.mjs';
import { until } from '../e2e/lib/until.mjs';

const ROUNDS = Number(process.argv[2] ?? 3);
const CALLS = 2_000;
const EVENTS = 20_000;

/**
 * The loops, with `call` and a counter of console events given: the worker gets them as text.
 * The worker's clock has steps of 100 us, so calls are timed in tens.
 */
async function loops(call, countTo) {
  const tens = [];
  for (let i = 0; i < CALLS / 10; i++) {
    const start = performance.now();
    for (let j = 0; j < 10; j++) await call({ expression: '1' });
    tens.push((performance.now() - start) * 100);
  }
  const start64 = performance.now();
  let next = 0;
  await Promise.all(Array.from({ length: 64 }, async () => { while (next++ < CALLS) await call({ expression: '1' }); }));
  const flight = CALLS / (performance.now() - start64) * 1000;
  const all = countTo(EVENTS);
  const start = performance.now();
  await call({ expression: `for (let i = 0; i < ${EVENTS}; i++) console.log('event', i); 1` });
  await all;
  const events = EVENTS / (performance.now() - start) * 1000;
  tens.sort((a, b) => a - b);
  return { p50: Math.round(tens[tens.length / 2]), flight: Math.round(flight), events: Math.round(events) };
}

const floor = `(tabId) => {
  const CALLS = ${CALLS}, EVENTS = ${EVENTS};
  const call = (params) => new Promise((resolve) => chrome.debugger.sendCommand({ tabId }, 'Runtime.evaluate', params, resolve));
  const countTo = (wanted) => new Promise((resolve) => {
    let seen = 0;
    chrome.debugger.onEvent.addListener(function count(_, method) {
      if (method !== 'Runtime.consoleAPICalled' || ++seen < wanted) return;
      chrome.debugger.onEvent.removeListener(count);
      resolve();
    });
  });
  return (${loops})(call, countTo);
}`;

async function relayed(link, tabId) {
  let frames = 0;
  const counted = () => frames++;
  const countTo = (wanted) => new Promise((resolve) => {
    let seen = 0;
    link.socket.on('message', counted);
    const off = link.on(({ params }) => {
      if (params?.method !== 'Runtime.consoleAPICalled' || ++seen < wanted) return;
      off();
      link.socket.off('message', counted);
      resolve();
    });
  });
  return { ...await loops((params) => link.cdp(tabId, 'Runtime.evaluate', params), countTo), frames };
}

/** The floor needs a worker that does nothing else: the same extension without its relay. */
async function measureFloor() {
  const browser = await Browser.start({ change: (copy) => writeFile(join(copy, 'background.js'), '') });
  try {
    return await browser.inWorker(`(async () => {
      const [{ id: tabId }] = await chrome.tabs.query({});
      await chrome.debugger.attach({ tabId }, '1.3');
      await chrome.debugger.sendCommand({ tabId }, 'Runtime.enable');
      const work = ${floor};
      await work(tabId);
      return work(tabId);
    })()`);
  } finally {
    await browser.stop();
  }
}

/** As little as a relay can be: no proof, no order, no batches. */
const echo = (address) => `
const socket = new WebSocket('${address}'.replace('http', 'ws') + '/extension');
let tabId;
socket.onmessage = ({ data }) => {
  const { id, params } = JSON.parse(data);
  if (id) chrome.debugger.sendCommand({ tabId }, params.method, params.params, (result) => socket.send(JSON.stringify({ id, result })));
};
socket.onopen = async () => {
  [{ id: tabId }] = await chrome.tabs.query({});
  await chrome.debugger.attach({ tabId }, '1.3');
  socket.send('{"method":"hello","params":{}}');
};
chrome.debugger.onEvent.addListener((source, method, params) => socket.send(JSON.stringify({ method: 'cdpEvent', params: { tabId: source.tabId, method, params } })));
`;

async function measureEcho() {
  const hub = await FakeHub.start({ greet: () => {} });
  const browser = await Browser.start({ change: (copy) => writeFile(join(copy, 'background.js'), echo(hub.address)) });
  try {
    const link = await until('the echo', () => hub.links[0]);
    await link.message('hello');
    link.record = false;
    await link.cdp(0, 'Runtime.enable');
    await relayed(link, 0);
    return await relayed(link, 0);
  } finally {
    await browser.stop();
    await hub.stop();
  }
}

async function measureRelay() {
  const key = newKey();
  const hub = await FakeHub.start({ key });
  const browser = await Browser.start({ preset: { hub: hub.address, instance: newInstance(), key } });
  try {
    const link = await hub.ready();
    link.record = false;
    const { tabs: [{ tabId }] } = await link.ask('listTabs');
    await link.ask('attachTab', { tabId, sessionId: 'bench' });
    await link.cdp(tabId, 'Runtime.enable');
    await relayed(link, tabId);
    return await relayed(link, tabId);
  } finally {
    await browser.stop();
    await hub.stop();
  }
}

const line = (name, { p50, flight, events, frames = 0 }) =>
  console.log(`  ${name.padEnd(8)} evaluate p50 ${p50} us | 64 in flight ${flight}/s | ${EVENTS} events ${events}/s${frames ? ` in ${frames} frames` : ''}`);

for (let round = 1; round <= ROUNDS; round++) {
  console.log(`round ${round}`);
  line('debugger', await measureFloor());
  line('echo', await measureEcho());
  line('relay', await measureRelay());
}
