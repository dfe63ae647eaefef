// The fixture web site. One server, two origins: the same port as 127.0.0.1 and as localhost.
import { createServer } from 'node:http';

export const html = (title, body, script = '') =>
  `<!doctype html><meta charset=utf-8><title>${title}</title><body>${body}<script>${script}</script>`;

export const js = (text) => ({ type: 'text/javascript', body: text });

/**
 * Path to page. A page is HTML text, or {status, type, headers, body}, or a function of (url, request)
 * that gives one, or {answer(request, response)} for what is not said at once.
 */
const PAGES = {
  '/': html('home', '<h1>Home</h1><a id=two href=/two>two</a>'),
  '/two': html('two', '<h1>Two</h1>', 'window.sawEarly = window.early;'),
  '/three': html('three', '<h1>Three</h1>'),
  '/popups': html('popups',
    `<button id=open onclick="window.child = window.open('/two?popup')">open</button>
     <a id=blank target=_blank rel=opener href="/two?blank">blank</a>
     <a id=noopener target=_blank rel=noopener href="/two?noopener">noopener</a>`),
  '/frames': (url) => html('frames',
    `<iframe id=same src="/frame?same"></iframe>
     <iframe id=other src="http://localhost:${url.port}/frame?other"></iframe>`),
  '/frame': html('frame', '<button id=hit>hit</button>',
    `window.sawEarly = window.early; let hits = 0; document.querySelector('#hit').onclick = () => { document.title = 'hit ' + ++hits; };`),
  '/workers': html('workers', '<p id=out></p>',
    `const worker = new Worker('/worker.js');
     worker.onmessage = (e) => { document.querySelector('#out').textContent = e.data; };
     worker.postMessage(20);`),
  '/worker.js': js(`self.kind = 'dedicated'; onmessage = (e) => postMessage('worker says ' + (e.data + 1));`),
  '/shared': html('shared', '', `window.shared = new SharedWorker('/shared.js');
     shared.port.onmessage = (e) => { document.title = e.data; }; shared.port.start();`),
  '/shared.js': js(`self.kind = 'shared'; onconnect = (e) => e.ports[0].postMessage('shared ready');`),
  '/service': html('service', '', `navigator.serviceWorker.register('/sw.js');
     navigator.serviceWorker.ready.then(() => { document.title = 'service ready'; });`),
  '/sw.js': js(`self.kind = 'service';
     onactivate = (e) => e.waitUntil(clients.claim());
     onfetch = (e) => { if (e.request.url.endsWith('/from-sw')) e.respondWith(new Response('from the service worker')); };`),
  '/downloads': html('downloads', '<a id=get href=/file>get</a> <a id=big href=/file?big>big</a>'),
  '/file': (url) => ({
    type: 'application/octet-stream',
    headers: { 'content-disposition': 'attachment; filename="knots.bin"' },
    body: url.search === '?big' ? BIG_FILE : SMALL_FILE,
  }),
  '/uploads': html('uploads', '<input id=files type=file multiple>',
    `document.querySelector('#files').onchange = async (e) => {
       const texts = await Promise.all([...e.target.files].map(async (f) => f.name + '=' + await f.text()));
       document.title = texts.join(';'); };`),
  '/dialogs': html('dialogs', '<button id=go onclick="go()">go</button>',
    `function go() { window.answers = [alert('one'), confirm('two'), prompt('three', 'preset')]; }`),
  '/beforeunload': html('beforeunload', '<button id=touch>touch</button>',
    `addEventListener('beforeunload', (e) => { e.preventDefault(); e.returnValue = 'stay'; });`),
  '/api': { type: 'application/json', body: '{"from":"server"}' },
  '/echo': (url, req) => ({ type: 'application/json', body: JSON.stringify({ method: req.method, headers: req.headers, url: url.href }) }),
  '/cookie': { headers: { 'set-cookie': 'knot=bowline; Path=/; Max-Age=86400' }, body: html('cookie', '') },
  '/console': html('console', '', `console.log('hello', 42); console.warn('careful'); console.error('broken');`),
  '/app.js': js('window.fromScript = "server"; function used() { return 1; } function unused() { return 2; } used();'),
  '/app': html('app', '<script src=/app.js></script>'),
};

export const SMALL_FILE = Buffer.from('a bowline neither slips nor jams\n');
export const BIG_FILE = Buffer.alloc(3 * 1024 * 1024, 'knot');

export class Site {
  /** What was asked for, in order. `/hang` is never answered: it ends with the server. */
  requests = [];

  /** With further pages, which a test file needs for itself. */
  static async start(pages = {}) {
    const site = new Site();
    site.pages = { ...PAGES, ...pages };
    site.server = createServer((req, res) => site.#answer(req, res));
    // Both loopback families, so that `localhost` reaches us whichever way it resolves.
    await new Promise((resolve) => site.server.listen(0, '127.0.0.1', resolve));
    site.port = site.server.address().port;
    site.server6 = createServer((req, res) => site.#answer(req, res));
    await new Promise((resolve) =>
      site.server6.on('error', resolve).listen(site.port, '::1', resolve));
    site.origin = `http://127.0.0.1:${site.port}`;
    site.other = `http://localhost:${site.port}`;
    return site;
  }

  url = (path) => this.origin + path;

  #answer(req, res) {
    const url = new URL(req.url, this.origin);
    this.requests.push(`${req.method} ${url.pathname}${url.search}`);
    if (url.pathname === '/hang') return;
    const entry = this.pages[url.pathname];
    const page = typeof entry === 'function' ? entry(url, req) : entry;
    if (page === undefined) return void res.writeHead(404).end('not found');
    if (page.answer) return void page.answer(req, res);
    const { status = 200, type = 'text/html', headers = {}, body } = page.body === undefined ? { body: page } : page;
    res.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', ...headers }).end(body);
  }

  async stop() {
    for (const server of [this.server, this.server6]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }
}
