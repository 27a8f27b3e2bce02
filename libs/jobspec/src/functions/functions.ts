import { ADDRESS_FUNCTIONS } from './address-functions.js';
import { BCRYPT_FUNCTION } from './bcrypt-function.js';
import { COLLECTION_FUNCTIONS } from './collection-functions.js';
import { ENCODING_FUNCTIONS } from './encoding-functions.js';
import { type FileAccess, fileFunctions } from './file-functions.js';
import type { FunctionTable } from './function-table.js';
import { NUMBER_FUNCTIONS } from './number-functions.js';
import { STRING_FUNCTIONS } from './string-functions.js';
import { TIME_FUNCTIONS } from './time-functions.js';
import { YAML_FUNCTIONS } from './yaml-functions.js';

/** The functions of the language (jobspec.md §7), except `can`, `convert` and `try`, which the evaluator implements. */
export function functionTable(files: FileAccess | undefined): FunctionTable {
  return new Map([
    ...Object.entries(NUMBER_FUNCTIONS),
    ...Object.entries(STRING_FUNCTIONS),
    ...Object.entries(COLLECTION_FUNCTIONS),
    ...Object.entries(ENCODING_FUNCTIONS),
    ...Object.entries(YAML_FUNCTIONS),
    ['bcrypt', BCRYPT_FUNCTION],
    ...Object.entries(TIME_FUNCTIONS),
    ...Object.entries(ADDRESS_FUNCTIONS),
    ...fileFunctions(files),
  ]);
}
