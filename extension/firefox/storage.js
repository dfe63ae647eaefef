// @ts-check
// Cookies, by Firefox's own store of the tab's container.
import { firefox, invalid, Refusal } from './api.js';
import { livingTab } from './contexts.js';
import { storeOf, userContextOf } from './names.js';

/** @type {Record<string, string>} */
const SAME_SITE = { no_restriction: 'none', lax: 'lax', strict: 'strict', unspecified: 'default' };
/** @type {Record<string, string>} */
const TO_FIREFOX = { none: 'no_restriction', lax: 'lax', strict: 'strict', default: 'unspecified' };

/** @param {any} partition */
function storeFor(partition) {
  if (partition?.type === 'context') return livingTab(partition.context, 'A partition').tab.store;
  return storeOf(partition?.userContext ?? 'default');
}

/** @param {any} cookie @returns {any} */
function told(cookie) {
  const { name, value, domain, path, httpOnly, secure, sameSite, expirationDate } = cookie;
  return {
    name, value: { type: 'string', value }, domain, path, httpOnly, secure, sameSite: SAME_SITE[sameSite] ?? 'default',
    size: new TextEncoder().encode(name + value).length, ...(expirationDate !== undefined && { expiry: Math.round(expirationDate) }),
  };
}

/** @param {any} filter @param {any} partition */
async function find(filter = {}, partition) {
  const storeId = storeFor(partition);
  const all = await firefox.cookies.getAll({ storeId, firstPartyDomain: null, ...(filter.name !== undefined && { name: filter.name }) });
  return all.map((/** @type {any} */ cookie) => ({ cookie, told: told(cookie) })).filter((/** @type {any} */ one) =>
    Object.entries(filter).every(([name, wanted]) => (name === 'value' ? one.told.value.value === /** @type {any} */ (wanted).value : one.told[name] === wanted)));
}

/** The address that a cookie belongs to. @param {any} cookie */
const addressOf = ({ domain, path = '/', secure }) => `http${secure ? 's' : ''}://${domain.replace(/^\./, '')}${path}`;

/** @param {any} partition */
const keyOf = (partition) => ({ partitionKey: { userContext: userContextOf(storeFor(partition)) } });

/** @type {Record<string, (params: any) => Promise<object | void>>} */
export const COMMANDS = {
  async 'storage.getCookies'({ filter, partition }) {
    return { cookies: (await find(filter, partition)).map((/** @type {any} */ one) => one.told), ...keyOf(partition) };
  },

  async 'storage.setCookie'({ cookie, partition }) {
    const { name, value, domain, path = '/', httpOnly = false, secure = false, sameSite = 'default', expiry } = cookie ?? {};
    if (typeof name !== 'string' || typeof domain !== 'string' || value?.type !== 'string') throw invalid('A cookie is to have a name, a value of the type string, and a domain.');
    try {
      await firefox.cookies.set({
        url: addressOf({ domain, path, secure }), name, value: value.value, path, httpOnly, secure, sameSite: TO_FIREFOX[sameSite], storeId: storeFor(partition), firstPartyDomain: '',
        // With a dot it is for the hosts below, too.
        ...(domain.startsWith('.') && { domain }), ...(expiry !== undefined && { expirationDate: expiry }),
      });
    } catch (error) {
      throw new Refusal('unable to set cookie', String(/** @type {Error} */ (error).message));
    }
    return keyOf(partition);
  },

  async 'storage.deleteCookies'({ filter, partition }) {
    for (const { cookie } of await find(filter, partition)) {
      await firefox.cookies.remove({ url: addressOf(cookie), name: cookie.name, storeId: cookie.storeId, firstPartyDomain: cookie.firstPartyDomain });
    }
    return keyOf(partition);
  },
};
