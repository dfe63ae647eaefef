// What an agent calls off leaves nothing behind: no busy script, no load, no cover over the page, no pressed button.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from './lib/test.mjs';
import { Agent } from './lib/agent.mjs';
import { fixture } from './lib/fixture.mjs';
import { html } from './lib/site.mjs';
import { until, within } from './lib/until.mjs';

const held = { asked: 0, dropped: 0 };
let agent;
const at = fixture({
  pages: {
    // Never answers, and counts who has stopped waiting.
    '/held': { answer: (_, response) => { held.asked += 1; response.on('close', () => { held.dropped += 1; }); } },
    '/down': html('down', '<button id=b>Press</button>',
      `b.onmousedown = () => alert('pressed'); addEventListener('mouseup', () => { document.title = 'released'; });`),
    // Each button keeps the page busy for a while in another moment of a click; what comes of it is written down.
    '/busy': html('busy', `<button id=over>Over</button> <button id=down>Down</button> <button id=calm>Calm</button>
      <div id=piece draggable=true style="width:80px;height:40px;background:#9cf">Piece</div><div id=box style="width:120px;height:60px;background:#fc9">Box</div>`,
      `window.log = []; const busy = (ms) => { const end = performance.now() + ms; while (performance.now() < end); };
       over.onmousemove = () => { log.push('over'); busy(1500); }; down.onmousedown = () => { log.push('down'); busy(1500); };
       for (const b of [over, down, calm]) b.onclick = () => log.push(b.id + ' clicked');
       box.ondragenter = () => { log.push('enter'); busy(1500); }; box.ondragover = (e) => e.preventDefault(); box.ondrop = () => log.push('dropped');`),
  },
  async open({ target }) { agent = await Agent.of(target); },
});

/** Asks for an op and hangs up as soon as `begun` holds. */
async function callOff(op, input, begun) {
  const { hostname, port } = new URL(agent.rest.base);
  const body = JSON.stringify(input);
  const path = `/api/browsers/${agent.browser}/tabs/current/ops/${op}`;
  const headers = { ...agent.rest.headers(), 'content-type': 'application/json', 'content-length': Buffer.byteLength(body),
    'x-bowline-session': agent.session };
  const asked = request({ host: hostname, port, path, method: 'POST', headers, agent: false });
  asked.on('error', () => {});
  asked.end(body);
  await begun();
  asked.destroy();
}

const isBusy = async () => (await agent.refused('get', { what: 'title', timeout: 200 })).code === 'timeout';
const answers = () => until('the page answers', async () => (await agent.op('get', { what: 'title', timeout: 1_000 })).value !== undefined);

test('a script that is busy at its deadline is stopped there', async () => {
  await agent.open(at.site.url('/two'));
  const late = await agent.refused('evaluate', { expression: 'for (;;);', timeout: 500 });
  assert.deepEqual([late.code, /stopped/.test(late.message)], ['timeout', true]);
  assert.equal(await agent.value('1 + 1'), 2);
  assert.equal((await agent.refused('wait_for', { expression: '(() => { for (;;); })()', timeout: 500 })).code, 'timeout');
  await answers();
});

test('an endless script ends with the call', async () => {
  await agent.open(at.site.url('/two'));
  await callOff('evaluate', { expression: 'for (;;);', timeout: 60_000 }, () => until('the page is busy', isBusy));
  await answers();
  await callOff('wait_for', { expression: '(() => { for (;;); })()', timeout: 60_000 }, () => until('the page is busy', isBusy));
  await answers();
});

test('a script that only waits is left, and the page with it', async () => {
  await agent.open(at.site.url('/two'));
  await agent.value(`window.ticks = 0; setInterval(() => { window.ticks += 1; }, 5)`);
  await callOff('evaluate', { expression: `(document.title = 'waiting', new Promise(() => {}))`, timeout: 60_000 },
    () => until('it waits', async () => (await agent.as('other').op('get', { what: 'title' }, at.site.url('/two'))).value === 'waiting'));
  const before = await agent.value('window.ticks');
  await until('the page goes on', async () => (await agent.value('window.ticks')) > before + 3);
});

test('a load that nobody waits for is stopped, and so is a fetch', async () => {
  await agent.open(at.site.url('/two'));
  const sent = held.asked;
  await callOff('navigate', { url: at.site.url('/held') }, () => until('it is asked for', () => held.asked > sent));
  await until('the browser has given up', () => held.dropped > 0);
  assert.equal((await agent.op('get', { what: 'url' })).value, at.site.url('/two'));
  const [asked, dropped] = [held.asked, held.dropped];
  await callOff('fetch', { url: '/held' }, () => until('it is fetched', () => held.asked > asked));
  await until('the fetch was aborted', () => held.dropped > dropped);
  assert.deepEqual(await agent.value('Object.getOwnPropertySymbols(globalThis).filter((s) => String(s).includes("fetch"))'), []);
});

test('the cover for picking an element goes away', async () => {
  await agent.open(at.site.url('/two'));
  const above = async () => (await agent.op('inspect', { what: 'ready', target: 'h1', query: { action: 'click' } })).reason;
  await callOff('pick', {}, () => until('the page is covered', async () => (await above()) === 'covered'));
  await until('the cover is gone', async () => (await above()) !== 'covered');
});

test('a button that opens a dialog when it is pressed is let go of afterwards', async () => {
  await agent.open(at.site.url('/down'));
  const { changes } = await agent.op('click', { target: '#b' });
  assert.equal(changes.dialog.message, 'pressed');
  await agent.op('dialog', { accept: true });
  await within(5_000, 'the button is up', until('released', async () => (await agent.value('document.title')) === 'released'));
});

test('a click that is called off is not carried out, and no other click is lost for it', async () => {
  for (const [target, sign] of [['#over', 'over'], ['#down', 'down']]) {
    await agent.open(at.site.url('/busy'));
    await callOff('click', { target }, () => delay(700));
    await answers();
    assert.ok((await agent.value('log')).includes(sign), 'it had begun');
    await agent.op('click', { target: '#calm' });
    assert.deepEqual((await agent.value('log')).filter((line) => line.endsWith('clicked')), ['calm clicked']);
  }
});

test('a drag that is called off drops nothing, and the page hears the mouse afterwards', async () => {
  await agent.open(at.site.url('/busy'));
  await callOff('drag', { from: '#piece', to: '#box' }, () => delay(900));
  await answers();
  await agent.op('click', { target: '#calm' });
  const log = await agent.value('log');
  assert.ok(log.includes('enter') && log.includes('calm clicked') && !log.includes('dropped'), log.join());
});

test('a late script on an element is stopped as well', async () => {
  await agent.open(at.site.url('/busy'));
  assert.equal((await agent.refused('evaluate', { target: '#calm', expression: 'el => { for (;;); }', timeout: 500 })).code, 'timeout');
  await answers();
});

test('a trace that nobody took is not the next one', async () => {
  await agent.open(at.site.url('/busy'));
  const traced = async (name) => {
    await agent.op('trace', { action: 'start' });
    await agent.value(`performance.mark('${name}')`);
    const { file } = await agent.op('trace', { action: 'stop', file: join(at.target.home.tmp, `${name}.json`) });
    return (await readFile(file, 'utf8')).includes(name);
  };
  await agent.op('trace', { action: 'start' });
  await agent.ask('trace', { action: 'stop', timeout: 1 });
  await until('the trace has ended', async () => (await agent.ask('trace', { action: 'start' })).success);
  await agent.op('trace', { action: 'stop' });
  assert.ok(await traced('second-mark'));
});
