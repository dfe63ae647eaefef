// @ts-check
// Which browser this is, for the hub's person.

/** @type {import('./handshake.js').Browser | undefined} */
let browser;

/** The browser by its own name and whole version: `Chromium` is only what lies below. */
export async function browserOf() {
  if (browser) return browser;
  const own = await nameOfFirefox();
  if (own) return (browser = own);
  /** @type {any} */
  const data = /** @type {any} */ (navigator).userAgentData;
  const { fullVersionList = [] } = await data?.getHighEntropyValues(['fullVersionList']) ?? {};
  const brands = fullVersionList.filter((/** @type {{brand: string}} */ { brand }) => !/not.*brand|^\W/i.test(brand));
  const brand = brands.find((/** @type {{brand: string}} */ { brand }) => brand !== 'Chromium') ?? brands[0];
  browser = {
    name: brand?.brand ?? 'Chromium',
    version: brand?.version ?? /Chrome\/(\S+)/.exec(navigator.userAgent)?.[1] ?? '',
    userAgent: navigator.userAgent,
  };
  return browser;
}

/** Firefox tells extensions what it is, whatever its user agent says. @returns {Promise<import('./handshake.js').Browser | undefined>} */
async function nameOfFirefox() {
  const told = await /** @type {any} */ (chrome.runtime).getBrowserInfo?.();
  return told && { name: told.name, version: told.version, userAgent: navigator.userAgent };
}
