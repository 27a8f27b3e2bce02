import { type MappedClaims, Refusal } from '@waybill/model';
import { stringify } from 'lossless-json';
import { claimOf, type Claims, type ClaimValue, isObject } from './exact-json.js';

/** ClaimMappings says which claims a method passes on, and under which names. */
export interface ClaimMappings {
  readonly ClaimMappings: Readonly<Record<string, string>> | null;
  readonly ListClaimMappings: Readonly<Record<string, string>> | null;
}

/** Maps the claims of a login (AU-41 to AU-44). @throws Refusal internal if a claim is of a kind that has no text */
export function mapClaims(claims: Claims, mappings: ClaimMappings): MappedClaims {
  return {
    value: mapPaths(claims, mappings.ClaimMappings, valueOf),
    list: mapPaths(claims, mappings.ListClaimMappings, listOf),
  };
}

/**
 * Maps sources to targets. If two sources have the same target, the source that sorts last by its bytes wins (AU-44).
 */
function mapPaths<T>(
  claims: Claims,
  targets: Readonly<Record<string, string>> | null,
  read: (claim: ClaimValue, source: string) => T,
): Readonly<Record<string, T>> {
  const found = new Map<string, T>();
  const sources = Object.entries(targets ?? {}).toSorted(([one], [other]) =>
    Buffer.compare(Buffer.from(one), Buffer.from(other)),
  );
  for (const [source, target] of sources) {
    const claim = lookUp(claims, source);
    if (claim !== undefined && claim !== null) found.set(target, read(claim, source));
  }
  return Object.fromEntries(found);
}

/** Finds a claim by its name, or by a JSON pointer if the source begins with `/` (AU-41). */
function lookUp(claims: Claims, source: string): ClaimValue | undefined {
  if (!source.startsWith('/')) return claimOf(claims, source);
  let found: ClaimValue | undefined = claims;
  for (const part of source.slice(1).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found)) found = INDEX.test(key) ? (found as readonly ClaimValue[])[Number(key)] : undefined;
    else found = isObject(found) ? claimOf(found, key) : undefined;
  }
  return found;
}

const INDEX = /^(0|[1-9]\d{0,8})$/;

function valueOf(claim: ClaimValue, source: string): string {
  const text = textOf(claim);
  if (text === undefined)
    throw new Refusal('internal', `error converting claim '${source}' to string from unknown type ${typeName(claim)}`);
  return text;
}

/** Returns the texts of a list. Empty texts are dropped (AU-43). */
function listOf(claim: ClaimValue, source: string): readonly string[] {
  if (isObject(claim)) throw new Refusal('internal', `"${source}" list claim could not be converted to string list`);
  const elements: readonly ClaimValue[] = Array.isArray(claim) ? claim : [claim];
  const texts = elements.map((element) => {
    const text = textOf(element);
    if (text === undefined)
      throw new Refusal(
        'internal',
        `value ${claimText(element)} in "${source}" list claim could not be parsed as string`,
      );
    return text;
  });
  return texts.filter((text) => text !== '');
}

/**
 * Returns a claim as text; numbers are truncated to integers (AU-42). The result is undefined if the claim has no text.
 */
function textOf(claim: ClaimValue): string | undefined {
  switch (typeof claim) {
    case 'string':
      return claim;
    case 'boolean':
    case 'bigint':
      return String(claim);
    case 'number':
      return Number.isFinite(claim) ? String(BigInt(Math.trunc(claim))) : undefined;
    default:
      return Array.isArray(claim) ? stringify(claim) : undefined;
  }
}

/** Returns the name by which clients of the reference know the kind of a claim. */
const typeName = (claim: ClaimValue): string => (isObject(claim) ? 'map[string]interface {}' : 'float64');

const claimText = (claim: ClaimValue): string => (claim === null ? '<nil>' : (stringify(claim) ?? ''));
