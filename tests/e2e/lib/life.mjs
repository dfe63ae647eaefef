// Steps that the lifecycle tests share.
import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Cdp } from './cdp.mjs';
import { Home } from './hub.mjs';

/** Runs `body({home, hub})` with a hub of its own and clears everything away. */
export async function withHub(body, env) {
  const home = await Home.make(env);
  try {
    return await body({ home, hub: await home.serve() });
  } finally {
    await home.cleanup();
  }
}

export async function withHome(body, env) {
  const home = await Home.make(env);
  try {
    return await body(home);
  } finally {
    await home.cleanup();
  }
}

/** A port that was free a moment ago. */
export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The directory that a browser of the process list has as its profile. */
export const profileOf = ({ command }) => /--(?:user-data-dir=|profile )(\S+)/.exec(command)[1];

/** What `bowline endpoint` prints. */
export const endpointOf = async (home, ...args) => {
  const { code, stdout, stderr } = await home.run(['endpoint', ...args]);
  if (code !== 0) throw new Error(`bowline endpoint ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
};

/** An executable shell script that passes for a browser; `count` has a line for each launch. */
export async function fakeBrowser(home, script) {
  const path = join(home.root, 'fake-browser');
  const count = join(home.root, 'launches');
  await writeFile(path, `#!/bin/sh
for arg; do [ "$arg" = --version ] && { echo "Chromium 156.0.0.0"; exit 0; }; done
echo launch >> "${count}"
${script}
`);
  await chmod(path, 0o755);
  await writeFile(count, '');
  return { path, count };
}

const NEVER = 'new Promise(() => {})';

/** Clients with commands that the browser will never answer, to see what becomes of them. */
export async function clientsInFlight(endpoint, { clients = 2, commands = 25 } = {}) {
  const list = await Promise.all(Array.from({ length: clients }, () => Cdp.connect(endpoint)));
  const pending = [];
  for (const cdp of list) {
    const { sessionId } = await cdp.page();
    for (let i = 0; i < commands; i++) {
      pending.push(cdp.evaluate(NEVER, sessionId).then(() => ({}), (error) => ({ code: error.code, message: error.message, at: performance.now() })));
    }
    // The page has them all, once it has answered something that came after.
    await cdp.evaluate('1', sessionId);
  }
  return { list, pending };
}
