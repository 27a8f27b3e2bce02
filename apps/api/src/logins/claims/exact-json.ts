import { parse } from 'lossless-json';

/** A claim as its signer wrote it. Whole numbers that a double cannot hold are bigints, so that none is rounded (AU-42). */
export type ClaimValue = string | number | bigint | boolean | null | readonly ClaimValue[] | Claims;

/** The payload of a JWT, or an answer of a user info endpoint. */
export interface Claims {
  readonly [name: string]: ClaimValue;
}

/** Deeper nesting than any claim has; keeps recursive readers off the stack's end. */
export const MAX_CLAIM_DEPTH = 64;

/** The claims of a token or of an answer cannot be read. */
export class UnreadableClaimsError extends Error {
  override readonly name = 'UnreadableClaimsError';
}

/**
 * Reads claims. A member that is there twice with different values is refused: two readers might see two truths.
 * @throws UnreadableClaimsError it is no JSON object, or nested deeper than MAX_CLAIM_DEPTH
 */
export function readClaims(text: string): Claims {
  const value = exactJson(text);
  if (!isObject(value)) throw new UnreadableClaimsError('the claims are no JSON object');
  return value;
}

/** A JSON value with its whole numbers as they are written. @throws UnreadableClaimsError */
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

/** A member that the claims have themselves: never one that every object has. */
export const claimOf = (claims: Claims, name: string): ClaimValue | undefined =>
  Object.hasOwn(claims, name) ? claims[name] : undefined;

const WHOLE = /^-?\d+$/;

function exactNumber(text: string): number | bigint {
  const number = Number(text);
  return WHOLE.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number;
}

/** How deep brackets are nested, without a parser that could reach the stack's end. */
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
