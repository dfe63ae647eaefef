// Checks that cannot pass in some browsers, and why. What is about ops stands in the product's own table
// (`bowline ops --json`): a row here says which of its rows a check is about. docs/protocols/clients.md has those of clients.
import { execFileSync } from 'node:child_process';
import { BOWLINE, FIREFOX, OWN, OWN_FIREFOX } from './env.mjs';

const CONTEXTS = 'Chrome gives an extension no way to make a browser context: Target.createBrowserContext is "Not allowed" in chrome.debugger';
const PROFILER = 'chrome.debugger has no Profiler domain';

/** The others must fail; `skip` is not run: whether it passes depends on how fast page and machine are, or it keeps the page from the next. */
const OWN_CHROME = [
  { name: 'contexts do not share cookies or storage, and end with their pages', reason: CONTEXTS },
  { name: 'storage state and extra headers of a new context hold', reason: CONTEXTS },
  { name: 'emulation of a new context: device, locale, time zone, colour scheme', reason: CONTEXTS },
  { name: 'a permission that was granted holds', reason: 'chrome.debugger has no Browser domain, and so no Browser.grantPermissions' },
  { name: 'JavaScript coverage counts what ran', reason: PROFILER },
  {
    name: 'init scripts run before a popup does', skip: true,
    reason: 'the debugger can be put on a tab only after Chrome has opened it, when its first document may have run already',
  },
  { name: 'a page led to chrome://crash crashes', op: 'navigate', field: 'url' },
  {
    name: 'a shared worker is seen and evaluated in',
    reason: 'Target.setAutoAttach of a page does not attach shared workers, and chrome.debugger has no session of the browser, which does',
  },
  { name: 'an endless script ends with the call', op: 'evaluate', field: 'timeout', skip: true },
  { name: 'a late script on an element is stopped as well', op: 'evaluate', field: 'timeout', skip: true },
];

const LAUNCHED_FIREFOX = [
  { name: 'a colour scheme is pretended', op: 'emulate', field: 'color_scheme' },
  { name: 'a trace is recorded', op: 'trace' },
  { name: 'a trace that nobody took is not the next one', op: 'trace' },
  { name: 'a script that is busy at its deadline is stopped there', op: 'evaluate', field: 'timeout', skip: true },
  { name: 'an endless script ends with the call', op: 'evaluate', field: 'timeout', skip: true },
  { name: 'a late script on an element is stopped as well', op: 'evaluate', field: 'timeout', skip: true },
];

const NOT_OWN_FIREFOX = [
  ...LAUNCHED_FIREFOX,
  { name: 'saveAsPdf', op: 'pdf' },
  { name: 'aliases do the same', op: 'pdf' },
  { name: 'a page as PDF', op: 'pdf' },
  { name: 'emulation holds for the agent, and is undone', op: 'emulate' },
  { name: 'CDP clients are kept inside too', reason: 'a person\'s own Firefox speaks WebDriver BiDi and no CDP' },
];

const CANNOT = OWN ? OWN_CHROME : OWN_FIREFOX ? NOT_OWN_FIREFOX : FIREFOX ? LAUNCHED_FIREFOX : [];
const ENGINE = OWN ? 'own-chrome' : OWN_FIREFOX ? 'own-firefox' : 'firefox';

let table;
/** The product's rows for the browser that is tested. */
export function differences() {
  table ??= JSON.parse(execFileSync(BOWLINE, ['ops', '--json'], { encoding: 'utf8' })).data
    .flatMap(({ name, differences }) => differences.map((row) => ({ op: name, ...row })))
    .filter(({ engine }) => engine === ENGINE);
  return table;
}

export function whyNot(name) {
  const check = CANNOT.find((check) => check.name === name);
  if (!check?.op) return check;
  const row = differences().find(({ op, field }) => op === check.op && field === (check.field ?? null));
  if (!row) throw new Error(`"${name}" is about ${check.op} ${check.field ?? ''}, of which the table of \`bowline ops\` says nothing`);
  return { ...check, reason: row.reason };
}

/** Ops that the browser cannot do at all. */
export const opsThatCannot = () => (OWN || FIREFOX || OWN_FIREFOX
  ? differences().filter(({ field, effect }) => field === null && effect === 'refused').map(({ op }) => op) : []);
