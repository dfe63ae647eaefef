// One set of rules for the extension, for the page script and for their tests; only the globals differ.
import { readFileSync } from 'node:fs';
import js from '@eslint/js';
import globals from 'globals';

/** The files of the page script are put together into one scope: what one declares, all may use. */
const PAGE = new URL('../../crates/ops/src/page/', import.meta.url);
const pageNames = JSON.parse(readFileSync(new URL('order.json', PAGE), 'utf8'))
  .flatMap((file) => [...readFileSync(new URL(file, PAGE), 'utf8').matchAll(/^(?:async )?(?:function|const|let|class) (\w+)/gm)])
  .map(([, name]) => [name, 'writable']);

export default [
  { ignores: ['**/node_modules/'] },
  js.configs.recommended,
  {
    rules: {
      'eqeqeq': 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-console': 'error',
      'object-shorthand': 'error',
    },
  },
  { files: ['**/extension/**/*.js'], languageOptions: { globals: { ...globals.browser, chrome: 'readonly' } } },
  {
    files: ['**/src/page/*.js'],
    languageOptions: { sourceType: 'script', globals: { ...globals.browser, ...Object.fromEntries(pageNames) } },
    // That a name of the common scope is used at all is a test of the page script: it needs all the files.
    rules: {
      'no-unused-vars': ['error', { vars: 'local', argsIgnorePattern: '^_' }],
      'no-redeclare': ['error', { builtinGlobals: false }],
    },
  },
  { files: ['**/*.mjs'], languageOptions: { globals: globals.node }, rules: { 'no-console': 'off' } },
];
