// @ts-check
// Where a page's download lies: the debugger tells of its address and name, only chrome.downloads of its path.

/**
 * The first download of this address since a moment, of those that are not spoken for: or the one that is
 * known by its number already. Its name says nothing: the second of one name is `name (1)`.
 * @param {{url: string, startedAfter?: number, except?: number[], id?: number}} wanted
 */
export async function findDownload({ url, startedAfter = 0, except = [], id }) {
  const found = await chrome.downloads.search(id !== undefined ? { id } : {
    startedAfter: new Date(Math.max(0, startedAfter - 1)).toISOString(), orderBy: ['startTime'], limit: 100,
  });
  const item = id !== undefined ? found[0] : found.find(({ id: number, url: asked, finalUrl }) =>
    (asked === url || finalUrl === url) && !except.includes(number));
  if (!item) return {};
  return {
    id: item.id,
    path: item.filename,
    state: item.state,
    bytes: item.bytesReceived,
    total: item.totalBytes,
    ...(item.error && { error: item.error }),
  };
}
