// @ts-check
// Where the settings lie. Nothing that runs in a web page may ever read the key: Chrome can close its storage to
// content scripts; others cannot, and there it is the database of the extension's own origin, which they do not see.

const NAME = 'settings';
/** The packages for Firefox and Safari have manifests of the second version. */
const inDatabase = Number(chrome.runtime.getManifest().manifest_version) === 2;

/** @param {string[]} names @returns {Promise<Record<string, unknown>>} */
export async function read(names) {
  if (!inDatabase) {
    void chrome.storage.local.setAccessLevel?.({ accessLevel: 'TRUSTED_CONTEXTS' });
    return chrome.storage.local.get(names);
  }
  const store = (await database()).transaction(NAME).objectStore(NAME);
  const values = await Promise.all(names.map((name) => done(store.get(name))));
  return Object.fromEntries(names.map((name, at) => [name, values[at]]));
}

/** @param {Record<string, unknown>} values */
export async function write(values) {
  if (!inDatabase) return chrome.storage.local.set(values);
  const store = (await database()).transaction(NAME, 'readwrite').objectStore(NAME);
  await Promise.all(Object.entries(values).map(([name, value]) => done(store.put(value, name))));
}

/** @type {Promise<IDBDatabase> | undefined} */
let opened;

function database() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('bowline', 1);
    request.onupgradeneeded = () => request.result.createObjectStore(NAME);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
