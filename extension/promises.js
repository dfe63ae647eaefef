// @ts-check
// Where the manifest is of the second version, promises are under the name `browser`, and `chrome` wants callbacks.
// Whoever is loaded after this module finds promises under the one name that all modules use.

const { browser } = /** @type {any} */ (globalThis);
if (browser?.runtime?.getManifest().manifest_version === 2) Object.defineProperty(globalThis, 'chrome', { value: browser, configurable: true, writable: true });
