// Without the recorder, for all browsers or for one: nothing attaches to a page, nothing is remembered,
// and what needs no memory works all the same.
import assert from 'node:assert/strict';
import { readdir, writeFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Cdp } from './lib/cdp.mjs';
import { hubOnly } from './lib/env.mjs';
import { fixture } from './lib/fixture.mjs';
import { endpointOf, withHome } from './lib/life.mjs';
import { Rest } from './lib/rest.mjs';
import { stays } from './lib/stays.mjs';
import { test } from './lib/test.mjs';
import { until } from './lib/until.mjs';

const at = fixture({ target: false });

const HISTORY = [
  ['GET', '/console'], ['GET', '/network'], ['GET', '/har'], ['GET', '/network/1/body'], ['DELETE', '/console'], ['DELETE', '/network'],
  ['GET', '/tabs/1/console'], ['GET', '/tabs/1/network'], ['GET', '/tabs/1/har'], ['GET', '/tabs/1/network/1/body'], ['DELETE', '/tabs/1/console'],
];

/** A page that nobody is attached to but, perhaps, the recorder; and whether somebody is. */
async function lonelyPage(endpoint) {
  const cdp = await Cdp.connect(endpoint);
  const { targetId } = await cdp.send('Target.createTarget', { url: at.site.url('/console') });
  const attached = async () => {
    const { targetInfos } = await cdp.send('Target.getTargets');
    return targetInfos.find((info) => info.targetId === targetId).attached;
  };
  await until('it has loaded', async () => (await cdp.send('Target.getTargetInfo', { targetId })).targetInfo.title === 'console');
  return { cdp, targetId, attached };
}

async function isNotRecorded(home, rest, name) {
  const { cdp, targetId, attached } = await lonelyPage(await endpointOf(home, name));
  await stays('nobody is attached', async () => !(await attached()), 300);
  for (const [method, path] of HISTORY) {
    const { status, code, message } = await rest.refused(method, `/browsers/${name}${path}`);
    assert.deepEqual([status, code], [409, 'recorder_off'], `${method} ${path}`);
    assert.ok(message.includes(name), message);
  }
  const { code, exit } = await home.failure('console', '--browser', name);
  assert.deepEqual([exit, code], [1, 'recorder_off']);
  const { recorded, running, tabs } = await rest.get(`/browsers/${name}/tabs`);
  assert.deepEqual([recorded, running], [false, true]);
  const tab = tabs.find(({ id }) => id === targetId);
  assert.deepEqual([tab.title, tab.url, tab.console.count], ['console', at.site.url('/console'), 0]);
  assert.equal((await home.run(['eval', '/console', 'document.title', '--browser', name])).stdout, 'console\n');
  assert.equal((await home.json('cdp', 'Runtime.evaluate', '{"expression":"6*7"}', '--tab', targetId, '--browser', name)).result.result.value, 42);
  assert.match((await home.json('cdp', 'Browser.getVersion', '--browser', name)).result.product, /Chrome/);
  await cdp.close();
}

test('with recorder.enabled off nothing is recorded of any browser', hubOnly, () => withHome(async (home) => {
  const hub = await home.serve();
  const rest = await Rest.of(hub);
  await isNotRecorded(home, rest, 'default');
  const refused = await rest.refused('POST', '/connect', { body: { port: hub.port } });
  assert.deepEqual([refused.status, refused.code], [409, 'recorder_off']);
  const { recorder } = await rest.get('/status');
  assert.deepEqual([recorder.open_tabs, recorder.bytes], [0, 0]);
}, { BOWLINE_RECORDER_ENABLED: 'false' }));

test('a browser can be left out while others are recorded', hubOnly, () => withHome(async (home) => {
  await mkdir(join(home.config, 'bowline'), { recursive: true });
  await writeFile(join(home.config, 'bowline', 'config.toml'), '[browsers.private]\nrecorder.enabled = false\n');
  const hub = await home.serve();
  const rest = await Rest.of(hub);
  await isNotRecorded(home, rest, 'private');
  const { cdp, targetId, attached } = await lonelyPage(hub.endpoint);
  assert.equal(await attached(), true, 'the recorder is attached here');
  await rest.line(targetId, 'careful');
  await cdp.close();
  await hub.end();
  const files = await readdir(join(home.data, 'bowline'));
  assert.ok(files.includes('history.db'), files.join(' '));
}));

test('a browser can be recorded while others are left out', hubOnly, () => withHome(async (home) => {
  await mkdir(join(home.config, 'bowline'), { recursive: true });
  await writeFile(join(home.config, 'bowline', 'config.toml'), '[recorder]\nenabled = false\n\n[browsers.watched.recorder]\nenabled = true\n');
  const hub = await home.serve();
  const rest = await Rest.of(hub);
  await isNotRecorded(home, rest, 'default');
  const { cdp, targetId } = await lonelyPage(await endpointOf(home, 'watched'));
  await until('recorded', async () => (await rest.console(targetId, {}, 'watched')).some(({ text }) => text === 'careful'));
  await cdp.close();
}));
