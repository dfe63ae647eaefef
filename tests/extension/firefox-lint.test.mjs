// The package for Firefox as its store looks at it: nothing to complain about, and nothing in it that is not for Firefox.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from '../e2e/lib/test.mjs';
import { makePackage } from './lib/package.mjs';

const LINTER = fileURLToPath(new URL('node_modules/addons-linter/bin/addons-linter', import.meta.url));

async function packed(browser, look) {
  const root = await mkdtemp(join(tmpdir(), 'bowline-package-'));
  try {
    await look(await makePackage(browser, join(root, browser)));
  } finally {
    await rm(root, { recursive: true });
  }
}

test('the linter of Firefox’s store has neither errors nor warnings nor notices', { timeout: 60_000 }, async () => {
  await packed('firefox', async (directory) => {
    const { stdout } = await promisify(execFile)(process.execPath, [LINTER, '--output', 'json', directory]).catch((error) => error);
    const { errors, warnings, notices } = JSON.parse(stdout);
    assert.deepEqual([...errors, ...warnings, ...notices].map(({ code, message, file, line }) => `${code} ${file}:${line} ${message}`), []);
  });
});

test('every package has what its own files need, and nothing of Chrome’s debugger in the others', async () => {
  for (const browser of ['chrome', 'firefox', 'safari']) {
    await packed(browser, async (directory) => {
      const files = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith('.js'));
      for (const file of files) {
        const text = await readFile(join(directory, file), 'utf8');
        for (const [, from] of text.matchAll(/^import (?:.* from )?'(\..*)';$/gm)) {
          const wanted = join(file, '..', from);
          assert.ok(files.includes(wanted), `${browser}: ${file} imports ${wanted}`);
        }
        if (browser !== 'chrome') assert.ok(!text.includes('chrome.debugger.'), `${browser}: ${file}`);
      }
      const manifest = JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8'));
      const named = JSON.stringify(manifest).match(/"[\w/-]+\.(js|html|png)"/g).map((name) => name.slice(1, -1));
      const all = await readdir(directory, { recursive: true });
      for (const name of named) assert.ok(all.includes(name), `${browser}: the manifest names ${name}`);
    });
  }
});
