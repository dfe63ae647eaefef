// Connects Playwright to an endpoint, says so, and stays connected until its input ends. Run by `cargo xtask bench extension`,
// which looks meanwhile what connecting has attached.
// Arguments: directory with node_modules, URL, tabs.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import path from 'node:path';

const [directory, url, tabs] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(directory), 'package.json'));
const { chromium } = require('playwright-core');

const browser = await chromium.connectOverCDP(url);
const pages = browser.contexts().reduce((count, context) => count + context.pages().length, 0);
if (pages !== Number(tabs)) throw new Error(`expected ${tabs} tabs at ${url}, found ${pages}`);
console.log('connected');
process.stdin.resume();
await once(process.stdin, 'end');
await browser.close();
