// @ts-check
// Scripts of the hub in frames: in the page's own world, or in the one that extensions have beside it, which a `sandbox` means.
import { firefox, invalid, Refusal, unsupported } from './api.js';
import { living } from './contexts.js';
import { meet } from './guard.js';
import { ask, hasLink } from './links.js';
import { contextOf } from './names.js';
import { emit } from './session.js';

/** Preload scripts, by their ids; their handles come when they are registered. @type {Map<string, {options: any, handle?: any}>} */
const preloads = new Map();

/** Our scripts take the extension's powers from the world that they share with a sandbox: they come first. @type {() => Promise<unknown>} */
let prepare = async () => {};
/** @param {typeof prepare} given */
export function onSandboxed(given) {
  prepare = given;
}
export const hasSandboxed = () => [...preloads.values()].some(({ options }) => options.world === undefined);

/** @param {string} context @param {string | undefined} sandbox */
const realmOf = (context, sandbox) => (sandbox === undefined ? `${context}:page` : `${context}:sandbox:${sandbox}`);

/** @param {any} target */
function resolve(target) {
  if (typeof target?.realm === 'string') {
    const [context, kind, ...name] = target.realm.split(':');
    return { ...living(context), sandbox: kind === 'sandbox' ? name.join(':') : undefined };
  }
  if (typeof target?.context !== 'string') throw invalid('`target` is to have a context or a realm.');
  // An empty name is the page's own world.
  return { ...living(target.context), sandbox: target.sandbox || undefined };
}

/** @param {string} op @param {any} params */
async function run(op, { target, ...params }) {
  const { tabId, frameId, context, sandbox } = resolve(target);
  if (params.expression === 'document.title' && frameId === 0 && !hasLink(tabId, 0)) return { ...await titleOf(tabId), realm: realmOf(context, sandbox) };
  meet(sandbox);
  const answer = await ask(tabId, frameId, op, { ...params, sandbox });
  return { ...answer, realm: realmOf(context, sandbox) };
}

/**
 * The title that Firefox itself shows: who lists tabs asks all of them, and need not wake those that sleep, nor enter any.
 * @param {number} tabId
 */
async function titleOf(tabId) {
  const { title = '', url = '' } = await firefox.tabs.get(tabId);
  // A page without a title is shown with its address, whole or without its beginning.
  if (url === 'about:blank') return { type: 'success', result: { type: 'string', value: '' } };
  const bare = url.replace(/^[a-z]+:\/\/(www\.)?/, '');
  return { type: 'success', result: { type: 'string', value: [url, bare, bare.replace(/\/$/, '')].includes(title) ? '' : title } };
}

/** What a channel was called with. @param {{tabId: number, frameId: number}} link @param {any} params */
export function onMessage({ tabId, frameId }, params) {
  const context = contextOf(tabId, frameId);
  emit('script.message', context, () => ({ ...params, source: { realm: realmOf(context, undefined), context } }));
}

/** After our own scripts have been registered anew: those of the hub come behind them. */
export async function preloadAgain() {
  for (const preload of preloads.values()) {
    const before = preload.handle;
    if (!before) continue;
    preload.handle = await firefox.contentScripts.register(preload.options);
    await before.unregister();
  }
}

export async function endPreloads() {
  const all = [...preloads.values()];
  preloads.clear();
  await Promise.all(all.map(({ handle }) => handle?.unregister()));
}

/** @type {Record<string, (params: any) => Promise<object | void>>} */
export const COMMANDS = {
  'script.evaluate': (params) => run('evaluate', params),
  'script.callFunction': (params) => run('callFunction', params),

  async 'script.disown'({ handles, target }) {
    const { tabId, frameId } = resolve(target);
    await ask(tabId, frameId, 'disown', { handles });
  },

  async 'script.getRealms'({ context, type }) {
    if (type !== undefined && type !== 'window') return { realms: [] };
    if (context === undefined) throw unsupported('Realms are told of one context at a time.');
    const { tab, frameId } = living(context);
    const { url } = /** @type {any} */ (tab.frames.get(frameId));
    const origin = URL.canParse(url) ? new URL(url).origin : 'null';
    return { realms: [{ type: 'window', realm: realmOf(context, undefined), context, origin }] };
  },

  async 'script.addPreloadScript'({ functionDeclaration, arguments: locals = [], contexts, userContexts, sandbox }) {
    if (locals.length > 0) throw unsupported('A preload script of an extension takes no channels.');
    if (userContexts?.length > 0) throw unsupported('A preload script is for all containers.');
    // It would stand beside our own scripts before they have closed the door behind them.
    if (sandbox !== undefined) throw unsupported('A preload script of an extension runs in the page’s own world.');
    // Private windows are nobody's, and Firefox cannot leave them out.
    if (await firefox.extension.isAllowedIncognitoAccess()) throw unsupported('A preload script would run in private windows, too: the extension is allowed there.');
    // Firefox registers scripts for addresses, not for tabs.
    if (contexts?.length > 0) throw unsupported('A preload script of an extension is for all tabs.');
    const script = crypto.randomUUID();
    const options = {
      matches: ['<all_urls>'], allFrames: true, matchOriginAsFallback: true, runAt: 'document_start',
      world: 'MAIN', js: [{ code: `(${functionDeclaration}\n)();` }],
    };
    /** @type {{options: any, handle?: any}} */
    const preload = { options };
    preloads.set(script, preload);
    meet(sandbox);
    if (sandbox !== undefined) await prepare();
    preload.handle = await firefox.contentScripts.register(options);
    return { script };
  },

  async 'script.removePreloadScript'({ script }) {
    const preload = preloads.get(script);
    if (!preload) throw new Refusal('no such script', `There is no preload script ${script}.`);
    preloads.delete(script);
    await preload.handle?.unregister();
    await prepare();
  },
};
