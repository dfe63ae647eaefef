// Draws the extension's icons from icons/icon.svg, in the sizes that browsers want. `node icons.mjs`
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Browser, EXTENSION } from './lib/browser.mjs';

const svg = await readFile(join(EXTENSION, 'icons/icon.svg'), 'base64');
const browser = await Browser.start();
try {
  const { sessionId, evaluate } = await browser.page('about:blank');
  const ask = (method, params) => browser.cdp.send(method, params, sessionId);
  await ask('Emulation.setDefaultBackgroundColorOverride', { color: { r: 0, g: 0, b: 0, a: 0 } });
  for (const size of [16, 32, 48, 128]) {
    await ask('Emulation.setDeviceMetricsOverride', { width: size, height: size, deviceScaleFactor: 1, mobile: false });
    await evaluate(`document.body.style.margin = 0;
      document.body.innerHTML = '<img style="display: block" width=${size} src="data:image/svg+xml;base64,${svg}">';
      document.querySelector('img').decode()`);
    const { data } = await ask('Page.captureScreenshot', { format: 'png' });
    await writeFile(join(EXTENSION, `icons/${size}.png`), Buffer.from(data, 'base64'));
  }
} finally {
  await browser.stop();
}
