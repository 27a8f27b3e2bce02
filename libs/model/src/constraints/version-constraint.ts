/** A version: at least three numeric segments, and the pre-release part, if any. */
interface Version {
  readonly segments: readonly bigint[];
  /** Number of segments in the text, before missing ones were filled in. */
  readonly given: number;
  readonly prerelease: readonly string[];
}

type Flavour = 'version' | 'semver';

/** Longest text that is parsed as a version or constraint. A longer one counts as invalid. */
const MAX_LENGTH = 1_024;

/**
 * Whether a version satisfies a comma-separated list of constraints (SC-56, SC-57). An invalid version or constraint
 * never does. Linear time.
 */
export function satisfiesVersion(flavour: Flavour, version: string, constraints: string): boolean {
  if (constraints.length > MAX_LENGTH) return false;
  const left = parseVersion(version, true);
  return (
    left !== undefined && constraints.split(',').every((constraint) => satisfies(flavour, left, constraint.trim()))
  );
}

function satisfies(flavour: Flavour, left: Version, constraint: string): boolean {
  const match = /^(=|!=|>=|<=|>|<|~>|)\s*(\S+)$/.exec(constraint);
  const right = match?.[2] === undefined ? undefined : parseVersion(match[2], flavour === 'version');
  if (!match || !right) return false;
  const sign = compareVersions(left, right);
  // Only SemVer orders a pre-release among releases (SC-57).
  const ordered = flavour === 'semver' || mayOrder(left, right);
  switch (match[1]) {
    case '':
    case '=':
      return sign === 0;
    case '!=':
      return sign !== 0;
    case '>':
      return ordered && sign > 0;
    case '>=':
      return ordered && sign >= 0;
    case '<':
      return ordered && sign < 0;
    case '<=':
      return ordered && sign <= 0;
    default:
      return flavour === 'version' && ordered && sign >= 0 && isPessimisticallyClose(left, right);
  }
}

function mayOrder(left: Version, right: Version): boolean {
  if (left.prerelease.length === 0) return true;
  return right.prerelease.length > 0 && compareSegments(left, right) === 0;
}

/**
 * Implements `~>`: all given segments except the last must be equal, and a pre-release on the right needs one on the
 * left.
 */
function isPessimisticallyClose(left: Version, right: Version): boolean {
  if (right.prerelease.length > 0 && left.prerelease.length === 0) return false;
  return right.segments.slice(0, right.given - 1).every((segment, i) => left.segments[i] === segment);
}

function parseVersion(text: string, bareLetter: boolean): Version | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const match = /^v?(\d+(?:\.\d+)*)([^+]*)(?:\+[0-9A-Za-z.~-]+)?$/.exec(text.trim());
  const [, numbers, rest] = match ?? [];
  if (numbers === undefined || rest === undefined) return undefined;
  const segments = numbers.split('.').map(BigInt);
  const given = segments.length;
  while (segments.length < 3) segments.push(0n);
  if (rest === '') return { segments, given, prerelease: [] };
  const hasDash = rest.startsWith('-');
  if (!hasDash && !(bareLetter && /^[A-Za-z~]/.test(rest))) return undefined;
  const prerelease = rest.slice(hasDash ? 1 : 0).split('.');
  return prerelease.every((part) => /^[0-9A-Za-z~-]+$/.test(part)) ? { segments, given, prerelease } : undefined;
}

function compareVersions(a: Version, b: Version): number {
  return compareSegments(a, b) || comparePrereleases(a.prerelease, b.prerelease);
}

function compareSegments(a: Version, b: Version): number {
  for (let i = 0; i < Math.max(a.segments.length, b.segments.length); i++) {
    const [x, y] = [a.segments[i] ?? 0n, b.segments[i] ?? 0n];
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
}

/**
 * Compares pre-releases as SemVer does: a release follows its pre-releases, numbers precede words, and shorter ones
 * precede longer ones.
 */
function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const sign = comparePart(a[i] ?? '', b[i] ?? '');
    if (sign !== 0) return sign;
  }
  return a.length - b.length;
}

function comparePart(a: string, b: string): number {
  const [x, y] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (x && y) return BigInt(a) < BigInt(b) ? -1 : Number(BigInt(a) > BigInt(b));
  if (x !== y) return x ? -1 : 1;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
