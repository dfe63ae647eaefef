// A client process that is made to be killed: it opens a context that goes with it, leaves a command
// unanswered and a request paused, says READY with what it holds, and waits.
import { Cdp } from './cdp.mjs';

const [ws, url, sharedTarget] = process.argv.slice(2);
const cdp = await Cdp.connect(ws);
const { browserContextId } = await cdp.send('Target.createBrowserContext', { disposeOnDetach: true });
const { targetId, sessionId } = await cdp.page(url, { browserContextId });
cdp.evaluate('new Promise(() => {})', sessionId).catch(() => {});

// A request of a page that others use, held in mid-flight.
const { sessionId: shared } = await cdp.send('Target.attachToTarget', { targetId: sharedTarget, flatten: true });
await cdp.send('Fetch.enable', { patterns: [{ urlPattern: '*/api' }] }, shared);
cdp.evaluate('void fetch("/api").then((r) => r.json()).then((body) => { window.fetched = body.from; })', shared);
await cdp.event('Fetch.requestPaused');
console.log(`READY ${JSON.stringify({ browserContextId, targetId })}`);
