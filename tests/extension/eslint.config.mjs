// One set of rules for the extension and for its tests; only the globals differ.
import js from '@eslint/js';
import globals from 'globals';

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
  { files: ['**/*.mjs'], languageOptions: { globals: globals.node }, rules: { 'no-console': 'off' } },
];
