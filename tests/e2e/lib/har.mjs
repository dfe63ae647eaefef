// The published schema of HTTP archives.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import Ajv from 'ajv';
import addFormats from 'ajv-formats';

const require = createRequire(import.meta.url);

/** A function that fails for what is no archive. The schema is of an older draft than Ajv's own, and gives its parts names without a scheme. */
export function validator() {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addMetaSchema(require('ajv/dist/refs/json-schema-draft-06.json'));
  const schemas = require('har-schema');
  for (const schema of Object.values(schemas)) ajv.addSchema(schema);
  return (har) => {
    const valid = ajv.validate('har.json#', har);
    assert.ok(valid, ajv.errorsText(ajv.errors, { separator: '\n' }));
  };
}
