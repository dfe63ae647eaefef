// @ts-check
// The list of tabs in the popup: rows are kept and changed in place, so that focus and scroll stay.

/**
 * @typedef {import('../view.js').View} View
 * @typedef {View['tabs'][number]} ShownTab
 */

/** Below this many a filter is only in the way. */
const FILTER_FROM = 8;

/** @type {Map<number, HTMLLIElement>} */
const rows = new Map();

/**
 * @param {View} view
 * @param {(name: string, more: object) => void} wish
 */
export function showTabs({ tabs, policy }, wish) {
  const list = /** @type {HTMLElement} */ (document.getElementById('tabs'));
  const filter = /** @type {HTMLInputElement} */ (document.getElementById('filter'));
  filter.hidden = tabs.length < FILTER_FROM;
  const wanted = filter.value.trim().toLowerCase();
  const shown = tabs
    .filter((tab) => `${tab.title} ${hostOf(tab.url)} ${tab.clients.join(' ')}`.toLowerCase().includes(wanted))
    .sort((a, b) => rank(b) - rank(a));

  const gone = new Set(rows.keys());
  /** @type {ChildNode | null} */
  let before = null;
  for (const tab of shown) {
    gone.delete(tab.tabId);
    const row = rows.get(tab.tabId) ?? newRow(tab.tabId, wish);
    draw(row, tab, policy.mode);
    // A row is moved only if it is not there already: moving takes the focus from it.
    /** @type {ChildNode | null} */
    const place = before ? before.nextSibling : list.firstChild;
    if (place !== row) list.insertBefore(row, place);
    before = row;
  }
  for (const tabId of gone) {
    rows.get(tabId)?.remove();
    rows.delete(tabId);
  }

  const attached = tabs.filter((tab) => tab.attached).length;
  set('count', attached > 0 ? `${tabs.length}, ${attached} attached` : String(tabs.length));
  /** @type {HTMLElement} */ (document.getElementById('no-tabs')).hidden = shown.length > 0;
  /** @type {HTMLElement} */ (document.getElementById('detach-all')).hidden = attached === 0;
}

/** Driven tabs first, then those that could be. @param {ShownTab} tab */
const rank = (tab) => (tab.clients.length > 0 ? 4 : 0) + (tab.attached ? 2 : 0) + (tab.chosen ? 1 : 0);

/** @param {number} tabId @param {(name: string, more: object) => void} wish */
function newRow(tabId, wish) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById('tab'));
  const row = /** @type {HTMLLIElement} */ (/** @type {HTMLElement} */ (template.content.firstElementChild).cloneNode(true));
  row.querySelector('button')?.addEventListener('click', () => {
    const { action } = row.dataset;
    if (action === 'detach') wish('detach', { tabId });
    else wish('choose', { tabId, on: action === 'choose' });
  });
  rows.set(tabId, row);
  return row;
}

/** @param {HTMLLIElement} row @param {ShownTab} tab @param {'auto' | 'manual'} mode */
function draw(row, tab, mode) {
  const closed = isClosed(tab.url);
  row.dataset.tab = String(tab.tabId);
  row.dataset.state = tab.clients.length > 0 ? 'driven' : tab.attached ? 'attached' : 'free';
  row.toggleAttribute('data-closed', closed);
  const title = tab.title || hostOf(tab.url) || 'New tab';
  text(row, '.name', title);
  const where = /** @type {HTMLElement} */ (row.querySelector('.where'));
  const drivers = document.createElement('b');
  drivers.textContent = tab.clients.join(', ');
  const host = title === tab.url ? '' : hostOf(tab.url);
  where.replaceChildren(...(tab.clients.length > 0 ? [drivers, host && ` · ${host}`] : [[tab.attached ? 'attached' : mode === 'manual' && tab.chosen && 'open to agents', host, closed && 'closed to all extensions'].filter(Boolean).join(' · ')]));
  row.title = `${title}\n${tab.url}`;

  const button = /** @type {HTMLButtonElement} */ (row.querySelector('button'));
  const action = mode === 'manual' ? (tab.chosen || tab.attached ? 'leave' : 'choose') : 'detach';
  button.hidden = closed || (action === 'detach' && !tab.attached);
  row.dataset.action = action;
  const label = { choose: 'Attach', leave: 'Detach', detach: 'Detach' }[action];
  if (button.textContent !== label) button.textContent = label;
  button.setAttribute('aria-label', `${label} ${title}`);
}

/** A browser lets no extension into its own pages, its store, or other extensions. @param {string} url */
function isClosed(url) {
  return /^(chrome|edge|brave|about|chrome-extension|moz-extension|resource|chrome-search|devtools|view-source):(?!blank|srcdoc)/.test(url)
    || /^https:\/\/(chromewebstore\.google\.com|chrome\.google\.com\/webstore|addons\.mozilla\.org)/.test(url);
}

/** @param {string} url */
function hostOf(url) {
  try {
    const { host, protocol, pathname } = new URL(url);
    return host && /^https?:$/.test(protocol) ? host : protocol + (host ? `//${host}` : pathname.slice(0, 40));
  } catch {
    return '';
  }
}

/** @param {Element} row @param {string} selector @param {string} value */
function text(row, selector, value) {
  const where = /** @type {HTMLElement} */ (row.querySelector(selector));
  if (where.textContent !== value) where.textContent = value;
}

/** @param {string} id @param {string} value */
function set(id, value) {
  /** @type {HTMLElement} */ (document.getElementById(id)).textContent = value;
}
