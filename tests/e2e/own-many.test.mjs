// A person's own browser with very many tabs: connecting costs nothing, and no page hangs.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { fixture } from './lib/fixture.mjs';
import { Own } from './lib/own.mjs';
import { test } from './lib/test.mjs';
import { pooled, until, within } from './lib/until.mjs';

const at = fixture({ target: false });

/** The targets of this many pages that fit, once the hub knows them. */
const pagesOf = (cdp, count, fits) => until(`${count} pages`, async () => {
  const { targetInfos } = await cdp.send('Target.getTargets');
  const found = targetInfos.filter((info) => info.type === 'page' && fits(info));
  return found.length === count && found;
}, 30_000);

test('with 200 tabs, connecting attaches none, and a first command attaches its tab alone', { timeout: 90_000 }, async (t) => {
  const own = await Own.start();
  t.after(() => own.stop());
  await pooled(Array.from({ length: 199 }), 4, (_, i) => own.open(i % 20 ? 'about:blank' : at.site.url(`/two?${i}`)));
  const cdp = await own.cdp();
  const pages = await pagesOf(cdp, 200, () => true);
  const sessions = await Promise.all(pages.map(({ targetId }) => cdp.send('Target.attachToTarget', { targetId, flatten: true })));
  await Promise.all(sessions.map(({ sessionId }) => cdp.send('Page.enable', {}, sessionId)));
  const playwright = await chromium.connectOverCDP(own.endpoint);
  const mine = playwright.contexts()[0].pages();
  assert.equal(mine.length, 200);
  const pup = await puppeteer.connect({ browserURL: own.endpoint });
  const theirs = await pup.pages();
  assert.equal(theirs.length, 200);
  assert.deepEqual(await own.attached(), [], 'by connecting');

  assert.equal(await mine.find((page) => page.url() === at.site.url('/two?20')).title(), 'two');
  assert.deepEqual(await own.attached(), [at.site.url('/two?20')], 'Playwright');
  assert.equal(await theirs.find((page) => page.url() === at.site.url('/two?40')).title(), 'two');
  assert.deepEqual(await own.attached(), [at.site.url('/two?20'), at.site.url('/two?40')], 'Puppeteer');
  const third = pages.findIndex(({ url }) => url === at.site.url('/two?60'));
  assert.equal(await cdp.evaluate('document.title', sessions[third].sessionId), 'two');
  assert.equal((await own.attached()).length, 3, 'raw');
  await Promise.all([cdp.close(), playwright.close(), pup.disconnect()]);
});

test('none of 50 pages hangs after connectOverCDP, ten times in a row', { timeout: 90_000 }, async (t) => {
  const own = await Own.start();
  t.after(() => own.stop());
  await pooled(Array.from({ length: 50 }), 4, (_, i) => own.open(at.site.url(`/two?${i}`)));
  const cdp = await own.cdp();
  await pagesOf(cdp, 50, ({ title }) => title === 'two');
  await cdp.close();
  for (let round = 0; round < 10; round++) {
    const browser = await chromium.connectOverCDP(own.endpoint);
    const pages = browser.contexts()[0].pages().filter((page) => page.url().includes('/two?'));
    assert.equal(pages.length, 50);
    const titles = await Promise.all(pages.map((page) =>
      within(20_000, `round ${round}: ${page.url()}`, page.evaluate(() => document.title))));
    assert.deepEqual(new Set(titles), new Set(['two']));
    await browser.close();
  }
});
