// @ts-check
// Which browser this is, for the hub's person.

/** @type {import('./handshake.js').Browser | undefined} */
let browser;

/** The browser by its own name and whole version: `Chromium` is only what lies below. */
export async function browserOf() {
  if (browser) return browser;
  /** @type {any} */
  const data = /** @type {any} */ (navigator).userAgentData;
  const { fullVersionList = [] } = await data?.getHighEntropyValues(['fullVersionList']) ?? {};
  const brands = fullVersionList.filter((/** @type {{brand: string}} */ { brand }) => !/not.*brand|^\W/i.test(brand));
  const own = brands.find((/** @type {{brand: string}} */ { brand }) => brand !== 'Chromium') ?? brands[0];
  browser = {
    name: own?.brand ?? 'Chromium',
    version: own?.version ?? /Chrome\/(\S+)/.exec(navigator.userAgent)?.[1] ?? '',
    userAgent: navigator.userAgent,
  };
  return browser;
}
