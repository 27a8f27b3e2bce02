import { parse } from 'lossless-json';

/**
 * ClaimValue is a claim as its signer wrote it. Integers that a double cannot represent are bigints, so that none is
 * rounded (AU-42).
 */
export type ClaimValue = string | number | bigint | boolean | null | readonly ClaimValue[] | Claims;

/** Claims are the payload of a JWT, or an answer of a user info endpoint. */
export interface Claims {
  readonly [name: string]: ClaimValue;
}

/** The largest depth of nesting. It is deeper than any claim, and recursive readers stay within the stack. */
export const MAX_CLAIM_DEPTH = 64;

/** UnreadableClaimsError says that the claims of a token or of an answer cannot be read. */
export class UnreadableClaimsError extends Error {
  override readonly name = 'UnreadableClaimsError';
}

/**
 * Reads claims. It refuses a member that occurs twice with different values, because two readers might see different
 * claims.
 * @throws UnreadableClaimsError if the text is not a JSON object, or nested deeper than MAX_CLAIM_DEPTH
 */
export function readClaims(text: string): Claims {
  const value = exactJson(text);
  if (!isObject(value)) throw new UnreadableClaimsError('the claims are no JSON object');
  return value;
}

/** Reads a JSON value and keeps its integers exact. @throws UnreadableClaimsError */
export function exactJson(text: string): ClaimValue {
  if (depthOf(text) > MAX_CLAIM_DEPTH)
    throw new UnreadableClaimsError(`the claims are nested deeper than ${MAX_CLAIM_DEPTH} levels`);
  try {
    return parse(text, null, { parseNumber: exactNumber }) as ClaimValue;
  } catch (error) {
    throw new UnreadableClaimsError('the claims are no JSON', { cause: error });
  }
}

export const isObject = (value: ClaimValue | undefined): value is Claims =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a member of the claims themselves, never one that every object inherits. */
export const claimOf = (claims: Claims, name: string): ClaimValue | undefined =>
  Object.hasOwn(claims, name) ? claims[name] : undefined;

const WHOLE = /^-?\d+$/;

function exactNumber(text: string): number | bigint {
  const number = Number(text);
  return WHOLE.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number;
}

/** Returns how deep brackets are nested. It uses no parser, which could overflow the stack. */
function depthOf(text: string): number {
  let [depth, deepest, inString] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') deepest = Math.max(deepest, ++depth);
    else if (character === '}' || character === ']') depth--;
  }
  return deepest;
}
