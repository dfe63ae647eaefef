// The extension as a browser gets it: what extension/packages.json says, in a directory of its own.
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { EXTENSION } from './browser.mjs';

/** `preset` is what it finds at its first start: {hub, instance, key, policy}. */
export async function makePackage(browser, into, preset) {
  const { manifest, leaveOut } = JSON.parse(await readFile(join(EXTENSION, 'packages.json'), 'utf8'))[browser];
  const out = new Set([...leaveOut, manifest]);
  await cp(EXTENSION, into, { recursive: true, filter: (from) => !out.has(relative(EXTENSION, from)) });
  await cp(join(EXTENSION, manifest), join(into, 'manifest.json'));
  if (preset) await writeFile(join(into, 'preset.json'), JSON.stringify(preset));
  return into;
}
