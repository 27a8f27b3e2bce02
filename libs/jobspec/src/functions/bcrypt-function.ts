import { createRequire } from 'node:module';
import { MAX_BCRYPT_COST } from '../limits.js';
import { FunctionError, type LanguageFunction } from './function-table.js';
import { from, num, str, textOf, wholeOf } from './parameters.js';

/** Loaded on the first call. */
const bcrypt = (): typeof import('bcryptjs') => createRequire(import.meta.url)('bcryptjs') as typeof import('bcryptjs');

const DEFAULT_COST = 10;
const MIN_COST = 4;
/** Longest password. The algorithm would silently ignore further bytes. */
const MAX_PASSWORD_BYTES = 72;

/** The function `bcrypt(text[, cost])`. Every call returns another text (JS-3). */
export const BCRYPT_FUNCTION: LanguageFunction = from(1, [str(), num('cost')], ([text, cost]) => {
  const password = textOf(text);
  const rounds = cost === undefined ? DEFAULT_COST : wholeOf(cost);
  if (rounds > MAX_BCRYPT_COST)
    throw new FunctionError(`cost ${rounds} is outside allowed range (${MIN_COST},${MAX_BCRYPT_COST})`);
  const { genSaltSync, hashSync, truncates } = bcrypt();
  if (truncates(password)) throw new FunctionError(`password length exceeds ${MAX_PASSWORD_BYTES} bytes`);
  return hashSync(password, genSaltSync(rounds < MIN_COST ? DEFAULT_COST : rounds));
});
