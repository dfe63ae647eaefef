// The person in front of their own browser: what they look at and press, done through the tests' own way into it.
import { until } from './until.mjs';

export const EXTENSION_ID = 'nlcjnmooldebpaifhfmfhceebioniojj';
export const EXTENSION_ORIGIN = `chrome-extension://${EXTENSION_ID}`;

/** A page, popup or worker of the browser, seen past the extension. */
export class Sight {
  static async of({ pipe }, targetId) {
    const sight = new Sight();
    Object.assign(sight, { pipe, targetId });
    ({ sessionId: sight.sessionId } = await pipe.send('Target.attachToTarget', { targetId, flatten: true }));
    return sight;
  }

  /** Opens a page in a tab of the person's. */
  static async open(own, url) {
    const { targetId } = await own.pipe.send('Target.createTarget', { url });
    const sight = await Sight.of(own, targetId);
    await until(`${url} is there`, () => sight.evaluate('document.readyState === "complete" && location.href !== "about:blank"'));
    return sight;
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.pipe.send(
      'Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true, userGesture: true }, this.sessionId);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  leave = () => this.pipe.send('Target.detachFromTarget', { sessionId: this.sessionId });
  close = () => this.pipe.send('Target.closeTarget', { targetId: this.targetId });
}

/** Every page target of the browser, also those that no agent is told of. */
export async function pagesOf({ pipe }) {
  const { targetInfos } = await pipe.send('Target.getTargets');
  return targetInfos.filter(({ type }) => type === 'page');
}

/** Evaluates in the extension's worker. */
export async function inWorker(own, expression) {
  const { targetId } = await until('the worker', async () => {
    const { targetInfos } = await own.pipe.send('Target.getTargets');
    return targetInfos.find(({ type, url }) => type === 'service_worker' && url.startsWith(EXTENSION_ORIGIN));
  });
  const sight = await Sight.of(own, targetId);
  try {
    return await sight.evaluate(expression);
  } finally {
    await sight.leave().catch(() => {});
  }
}

/** The popup as a page of its own: the same messages go from it. */
export async function openPopup(own) {
  const popup = await Sight.open(own, `${EXTENSION_ORIGIN}/popup/popup.html`);
  await until('the popup shows something', () => popup.evaluate('document.body.dataset.ready'));
  return Object.assign(popup, {
    status: () => popup.evaluate('document.querySelector("#status").innerText'),
    /** What a button or switch of the popup sends; gives the first view that fits. */
    wish: (request, fits = () => true, ...args) => popup.evaluate(`new Promise((resolve, reject) => {
      const port = chrome.runtime.connect({ name: 'popup' });
      const fits = ${fits};
      port.onMessage.addListener(({ view, error }) => {
        if (error) reject(new Error(error));
        else if (fits(view, ...${JSON.stringify(args)})) resolve(view);
        else return;
        port.disconnect();
      });
      port.postMessage(${JSON.stringify(request)});
    })`),
  });
}

/** Opens the popup, presses something, closes it. */
async function press(own, request, fits, ...args) {
  const popup = await openPopup(own);
  try {
    return await popup.wish(request, fits, ...args);
  } finally {
    await popup.close();
  }
}

/** Changes the policy; what is not named stays. */
export const setPolicy = (own, change) => press(own, { wish: 'policy', change },
  ({ policy }, wanted) => Object.entries(wanted).every(([name, value]) => JSON.stringify(policy[name]) === JSON.stringify(value)), change);

/** Puts a tab at the agents' disposal, in manual mode, or takes it back; `path` is in its address. */
export async function choose(own, path, on) {
  const popup = await openPopup(own);
  try {
    const { tabs } = await popup.wish({ wish: 'none' }, ({ tabs }, wanted) => tabs.some(({ url }) => url.includes(wanted)), path);
    const { tabId } = tabs.find(({ url }) => url.includes(path));
    await popup.wish({ wish: 'choose', tabId, on }, ({ tabs: now }, id, wanted) => now.find((tab) => tab.tabId === id)?.chosen === wanted, tabId, on);
  } finally {
    await popup.close();
  }
}

/** Resume in the popup, after a cancel. */
export const resume = (own) => press(own, { wish: 'resume' }, ({ policy }) => !policy.paused);

/** What Chrome tells its extensions when Cancel on the infobar was pressed: a headless browser has no infobar. */
export const cancel = (own) => inWorker(own, `(async () => {
  const { tabId } = (await chrome.debugger.getTargets()).find(({ attached, tabId }) => attached && tabId !== undefined);
  chrome.debugger.onDetach.dispatch({ tabId }, 'canceled_by_user');
  return tabId;
})()`);
