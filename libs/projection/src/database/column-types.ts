import { type CustomTypesConfig, types } from 'pg';
import { parseStored } from '../writing/stored-text.js';

const OID_INT8 = 20;
const OID_JSON = 114;
const OID_VARCHAR = 1043;

/**
 * How columns arrive: bigint as numbers (indexes and times, which the state keeps as numbers), json as the value that
 * was stored, and so is varchar: JSON that PostgreSQL does not look at (every other text is `text`). Given with every query, so that it does not matter how the caller's pool is configured.
 */
export const columnTypes: CustomTypesConfig = {
  getTypeParser(oid, format) {
    if (oid === OID_INT8) return Number;
    if (oid === OID_JSON || oid === OID_VARCHAR) return parseStored;
    return types.getTypeParser(oid, format);
  },
};
