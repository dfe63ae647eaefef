// Checks of the client tests that cannot pass in a person's own browser, and why. docs/protocols/clients.md has the same table.

const CONTEXTS = 'Chrome gives an extension no way to make a browser context: Target.createBrowserContext is "Not allowed" in chrome.debugger';
const PROFILER = 'chrome.debugger has no Profiler domain';

/** The others must fail; `skip` is not run: whether it passes depends on how fast page and machine are, or it keeps the page from the next. */
export const CANNOT = [
  { name: 'contexts do not share cookies or storage, and end with their pages', reason: CONTEXTS },
  { name: 'storage state and extra headers of a new context hold', reason: CONTEXTS },
  { name: 'emulation of a new context: device, locale, time zone, colour scheme', reason: CONTEXTS },
  { name: 'a permission that was granted holds', reason: 'chrome.debugger has no Browser domain, and so no Browser.grantPermissions' },
  { name: 'JavaScript coverage counts what ran', reason: PROFILER },
  {
    name: 'init scripts run before a popup does', skip: true,
    reason: 'the debugger can be put on a tab only after Chrome has opened it, when its first document may have run already',
  },
  { name: 'a page led to chrome://crash crashes', reason: 'chrome.debugger may not lead a tab to a chrome: address' },
  {
    name: 'a shared worker is seen and evaluated in',
    reason: 'Target.setAutoAttach of a page does not attach shared workers, and chrome.debugger has no session of the browser, which does',
  },
  {
    name: 'an endless script ends with the call', skip: true,
    reason: 'chrome.debugger does not allow Runtime.terminateExecution, so a busy script that is called off runs until its deadline',
  },
];

export const whyNot = (name) => CANNOT.find((check) => check.name === name);
