import { type CustomTypesConfig, types } from 'pg';
import { parseStored } from '../writing/stored-text.js';

const OID_INT8 = 20;
const OID_JSON = 114;
const OID_VARCHAR = 1043;

/**
 * Parsers of column types. bigint becomes a number, because the state has numbers for indexes and times. json becomes
 * the stored value, and so does varchar, which is JSON that PostgreSQL does not parse (every other text is `text`).
 * Passed with every query, so that the caller's pool configuration does not matter.
 */
export const columnTypes: CustomTypesConfig = {
  getTypeParser(oid, format) {
    if (oid === OID_INT8) return Number;
    if (oid === OID_JSON || oid === OID_VARCHAR) return parseStored;
    return types.getTypeParser(oid, format);
  },
};
