// As little as the extension of a relay can be: what a socket says goes to chrome.debugger, what that says goes to the
// socket. No proof, no order, no batches, no policy. `cargo xtask bench extension` measures it as the floor.
// `sockets.json`, put beside this file by the bench, names the addresses; each gets a tab of its own.

/** The socket of each tab. */
const sockets = new Map();
/** Called instead of a socket, while the worker measures by itself. */
let counter;

chrome.debugger.onEvent.addListener(({ tabId }, method, params) => {
  if (counter) counter(method);
  else sockets.get(tabId)?.send(JSON.stringify({ method, params }));
});

async function echo(address) {
  const { id: tabId } = await chrome.tabs.create({ url: 'about:blank' });
  await chrome.debugger.attach({ tabId }, '1.3');
  const socket = new WebSocket(address);
  sockets.set(tabId, socket);
  socket.onmessage = ({ data }) => {
    const { id, method, params } = JSON.parse(data);
    if (method === 'Floor.measure') {
      void measure(tabId, params).then((result) => socket.send(JSON.stringify({ id, result })));
      return;
    }
    chrome.debugger.sendCommand({ tabId }, method, params, (result) => {
      const error = chrome.runtime.lastError;
      socket.send(JSON.stringify(error ? { id, error } : { id, result }));
    });
  };
}

/** The same loops as the bench's, in the worker alone. Its clock has steps of 100 us, so calls are timed in tens. */
async function measure(tabId, { evaluations, commands, inFlight, events }) {
  const call = (method, params) => chrome.debugger.sendCommand({ tabId }, method, params);
  const evaluate = () => call('Runtime.evaluate', { expression: '1+1', returnByValue: true });
  const tens = [];
  for (let done = 0; done < evaluations; done += 10) {
    const start = performance.now();
    for (let i = 0; i < 10; i++) await evaluate();
    tens.push((performance.now() - start) * 100);
  }
  const start = performance.now();
  let sent = 0;
  await Promise.all(Array.from({ length: inFlight }, async () => {
    while (sent++ < commands) await evaluate();
  }));
  const throughput = commands / (performance.now() - start) * 1000;

  await call('Runtime.enable', {});
  const begin = performance.now();
  let seen = 0;
  const all = new Promise((resolve) => {
    counter = (method) => {
      if (method === 'Runtime.consoleAPICalled' && ++seen === events) resolve();
    };
  });
  await call('Runtime.evaluate', { expression: `for (let i = 0; i < ${events}; i++) console.log(i)` });
  await all;
  const rate = events / (performance.now() - begin) * 1000;
  counter = undefined;
  await call('Runtime.discardConsoleEntries', {});
  await call('Runtime.disable', {});
  tens.sort((a, b) => a - b);
  return { latency: tens[tens.length >> 1], throughput, events: rate };
}

void (async () => {
  const addresses = await (await fetch('sockets.json')).json();
  for (const address of addresses) await echo(address);
})();
