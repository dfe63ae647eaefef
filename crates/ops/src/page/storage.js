// The page's local and session storage.

function useStorage({ kind = 'local', get, set, remove, clear }) {
  let storage;
  try {
    storage = kind === 'session' ? sessionStorage : localStorage;
  } catch (error) {
    return failure('no_storage', `This page has no ${kind} storage: ${error.message}`, { origin: location.origin });
  }
  try {
    if (clear) storage.clear();
    for (const key of remove === undefined || remove === null ? [] : [remove].flat()) storage.removeItem(String(key));
    for (const [key, value] of Object.entries(set ?? {})) storage.setItem(key, typeof value === 'string' ? value : JSON.stringify(value));
  } catch (error) {
    return failure('no_storage', `The storage did not take it: ${error.message}`, { origin: location.origin });
  }
  const wanted = get === undefined || get === null || get === true ? null : new Set([get].flat().map(String));
  const items = {};
  let size = 0;
  for (let i = 0; i < Math.min(storage.length, 10_000) && size < MAX_ANSWER; i++) {
    const key = storage.key(i);
    if (wanted && !wanted.has(key)) continue;
    // `items` is no prototype chain to write into.
    Object.defineProperty(items, key, { value: storage.getItem(key), enumerable: true, configurable: true });
    size += key.length + items[key].length;
  }
  return { items, count: Object.keys(items).length, origin: location.origin };
}
