// @ts-check
// What the popup asks the person for when they want it, and the worker looks for before it uses it.

/** To remove frames of other extensions from a page. */
export const FRAMES_PERMISSION = { permissions: ['scripting'], origins: ['<all_urls>'] };
