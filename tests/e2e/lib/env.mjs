// What the suite knows about the machine: where the binary and the browser are, and which
// flags keep Chromium quiet. Everything else receives these values from here.
import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const E2E = dirname(dirname(fileURLToPath(import.meta.url)));

/** With E2E_TARGET=direct the client tests talk to a plain Chromium: that is the reference. */
export const DIRECT = process.env.E2E_TARGET === 'direct';

/** With E2E_TARGET=own they talk to a person's own browser, through the extension in it. */
export const OWN = process.env.E2E_TARGET === 'own';

/** With E2E_TARGET=firefox the tests of ops and actions talk to a Firefox that the hub has launched. */
export const FIREFOX = process.env.E2E_TARGET === 'firefox';

/** With E2E_TARGET=own-firefox they talk to a person's own Firefox. */
export const OWN_FIREFOX = process.env.E2E_TARGET === 'own-firefox';

/** For tests of what only a hub does: `test(name, hubOnly, fn)`. */
export const hubOnly = { skip: DIRECT ? 'needs a hub' : false };

export const BOWLINE = resolve(E2E, process.env.BOWLINE_BIN ?? '../../target/debug/bowline');

export const QUIET_FLAGS = [
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
];

function executable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function inPath(names) {
  for (const dir of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of names) {
      const path = join(dir, name);
      if (executable(path)) return path;
    }
  }
}

function findChromium() {
  const found = process.env.CHROMIUM ?? inPath(['chromium', 'chromium-browser', 'google-chrome']);
  if (!found) throw new Error('no Chromium found: set CHROMIUM or add it to PATH');
  return found;
}

export const CHROMIUM = findChromium();

/** For the tests that need one; without it they fail. */
export function findFirefox() {
  const found = process.env.FIREFOX ?? inPath(['firefox-esr', 'firefox']);
  if (!found) throw new Error('no Firefox found: install it (`apt install firefox-esr` on Debian), set FIREFOX or add it to PATH');
  return found;
}
