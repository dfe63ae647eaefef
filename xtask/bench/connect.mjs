// Measures chromium.connectOverCDP + close of two endpoints, alternately (A B, B A, ...), and prints
// the milliseconds of each round as JSON, and how long this process itself was on a processor for them. Run by `cargo xtask bench`.
// Arguments: directory with node_modules, URL of the direct side, URL of the other, rounds, tabs.
import { createRequire } from 'node:module';
import path from 'node:path';

const [directory, directUrl, otherUrl, rounds, tabs] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(directory), 'package.json'));
const { chromium } = require('playwright-core');

async function connect(url) {
  const before = process.cpuUsage();
  const start = performance.now();
  const browser = await chromium.connectOverCDP(url);
  const took = performance.now() - start;
  const pages = browser.contexts().reduce((count, context) => count + context.pages().length, 0);
  if (pages !== Number(tabs)) {
    throw new Error(`expected ${tabs} tabs at ${url}, found ${pages}`);
  }
  const closing = performance.now();
  await browser.close();
  const used = process.cpuUsage(before);
  return [took + (performance.now() - closing), (used.user + used.system) / 1000];
}

const sides = [
  { url: directUrl, times: [], processor: [] },
  { url: otherUrl, times: [], processor: [] },
];
for (const side of sides) {
  await connect(side.url);
}
for (let round = 0; round < Number(rounds); round++) {
  const order = round % 2 === 0 ? sides : [...sides].reverse();
  for (const side of order) {
    const [time, processor] = await connect(side.url);
    side.times.push(time);
    side.processor.push(processor);
  }
}
console.log(JSON.stringify(sides.map(({ times, processor }) => ({ times, processor }))));
