// What most test files begin with: one site and one target, ended when the file ends.
import { after, before } from 'node:test';
import { FIREFOX, OWN, OWN_FIREFOX } from './env.mjs';
import { startFirefox, startTarget } from './hub.mjs';
import { Own } from './own.mjs';
import { OwnFirefox } from './own-firefox.mjs';
import { Site } from './site.mjs';

function start(options) {
  if (OWN_FIREFOX) return OwnFirefox.start(options);
  if (OWN) return Own.start(options);
  return FIREFOX ? startFirefox(options) : startTarget(options);
}

/**
 * Gives {site, target}, filled before the file's first test. `target` may be what starts one. `open(at)` and `close(at)` add the
 * file's own things: one hook each, because hooks at the top of a file do not wait for each other.
 */
export function fixture({ target = true, env, pages, open, close } = {}) {
  const at = {};
  before(async () => {
    at.site = await Site.start(pages);
    if (target) at.target = await (target === true ? start : target)({ env });
    await open?.(at);
  });
  after(async () => {
    try {
      await close?.(at);
    } finally {
      await at.target?.stop();
      await at.site?.stop();
    }
  });
  return at;
}
