import { Refusal } from '@waybill/model';
import { badRequest } from './api-error.js';

const BYTES_PER_MIB = 1024 * 1024;
/**
 * The largest size of a request's body in bytes. A job that does not fit into a transaction is refused later, with a
 * text of its own.
 */
export const MAX_BODY_BYTES = 32 * BYTES_PER_MIB;

/**
 * Returns the refusal of a body that is too large. The contract has no limit (API-29), so the text names ours. @param
 * limit the bytes that the path accepts
 */
export const bodyTooLarge = (limit = MAX_BODY_BYTES): Refusal =>
  new Refusal('too-large', `Request body is too large: at most ${Math.floor(limit / BYTES_PER_MIB)} MiB`);

/** The largest depth of nesting. It is deeper than any job, and recursive decoding stays within the stack. */
export const MAX_JSON_DEPTH = 256;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads the JSON value of a request (API-26, API-27). The first value counts; text behind it is ignored.
 * @throws Refusal invalid if the body is empty, not UTF-8, not JSON, or nested deeper than MAX_JSON_DEPTH
 */
export function readJsonBody(body: unknown): unknown {
  const text = textOf(body);
  if (text.trim() === '') throw badRequest('Request body is empty');
  const end = endOfFirstValue(text);
  try {
    return JSON.parse(text.slice(0, end)) as unknown;
  } catch (error) {
    throw badRequest(error instanceof Error ? error.message : 'malformed JSON');
  }
}

/** Does the same as `readJsonBody`, and returns undefined for an empty body. */
export function readOptionalJsonBody(body: unknown): unknown {
  return textOf(body).trim() === '' ? undefined : readJsonBody(body);
}

function textOf(body: unknown): string {
  if (body === undefined || body === null) return '';
  if (!Buffer.isBuffer(body)) throw badRequest('Request body is empty');
  try {
    return utf8.decode(body);
  } catch {
    throw badRequest('invalid character in JSON: the body is not valid UTF-8');
  }
}

/**
 * Returns the position behind the first object or array of the text. For any other text it returns the length, and
 * JSON.parse decides.
 */
function endOfFirstValue(text: string): number {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === BACKSLASH) i++;
      else if (c === QUOTE) inString = false;
    } else if (c === QUOTE) inString = true;
    else if (c === BRACE || c === BRACKET) {
      if (++depth > MAX_JSON_DEPTH) throw badRequest(`JSON nested deeper than ${MAX_JSON_DEPTH} levels`);
    } else if ((c === BRACE_END || c === BRACKET_END) && --depth <= 0) return i + 1;
  }
  return text.length;
}

const [QUOTE, BACKSLASH, BRACE, BRACE_END, BRACKET, BRACKET_END] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d];
