import { globMatcher } from '@waybill/model';
import type { OrDeny } from '../capabilities.js';

/** Granted is the set of capabilities that a label grants. It is empty if the label denies or has no capability. */
export type Granted<Capability extends string> = ReadonlySet<Capability>;

interface GlobRule<Capability extends string> {
  readonly glob: string;
  readonly matches: (name: string) => boolean;
  readonly granted: Granted<Capability>;
}

/**
 * LabelTable holds capabilities by label and unites those of several policies (OP-123, OP-124). An exact label costs
 * one look-up. A pattern costs one linear match with each pattern up to the first that matches.
 *
 * A pattern is closer to a name if (length of the name − length of the pattern + number of its stars) is smaller
 * (OP-132). The length of the name is the same for all patterns, so their order does not depend on the name. The table
 * keeps patterns in that order, and the first match counts.
 */
export class LabelTable<Capability extends string> {
  private constructor(
    private readonly exact: ReadonlyMap<string, Granted<Capability>>,
    private readonly globs: readonly GlobRule<Capability>[],
  ) {}

  static of<Capability extends string>(
    rules: Iterable<readonly [label: string, capabilities: readonly OrDeny<Capability>[]]>,
  ): LabelTable<Capability> {
    const exact = new Map<string, Granted<Capability>>();
    const globs: GlobRule<Capability>[] = [];
    for (const [label, granted] of united(rules)) {
      if (isGlob(label)) globs.push({ glob: label, matches: globMatcher([label]), granted });
      else exact.set(label, granted);
    }
    return new LabelTable(exact, closestFirst(globs));
  }

  /**
   * Returns what a name is granted. Its exact label counts, even if it grants less; without one the closest pattern
   * counts. [OP-131, OP-132]
   */
  grantedTo(name: string): Granted<Capability> | undefined {
    return this.exactlyGrantedTo(name) ?? this.closestGrantedTo(name);
  }

  /** Returns what the label that equals the name grants. The result is undefined if there is no such label. */
  exactlyGrantedTo(name: string): Granted<Capability> | undefined {
    return this.exact.get(name);
  }

  /**
   * Returns what the closest pattern grants. The result is undefined if no pattern matches. A star in a name is never a
   * pattern, and no object has a star in its name, so nothing matches such a name (OP-136).
   */
  closestGrantedTo(name: string): Granted<Capability> | undefined {
    return isGlob(name) ? undefined : this.globs.find(({ matches }) => matches(name))?.granted;
  }

  /**
   * Says whether some label grants enough, whether or not an object of that name exists (OP-140). It looks at all
   * labels.
   */
  grantsAnywhere(isEnough: (granted: Granted<Capability>) => boolean): boolean {
    return [...this.exact.values()].some(isEnough) || this.globs.some(({ granted }) => isEnough(granted));
  }

  /** Returns all labels that grant something. */
  grantingLabels(): string[] {
    const globs = this.globs.map(({ glob, granted }) => [glob, granted] as const);
    return [...this.exact, ...globs].filter(([, { size }]) => size > 0).map(([label]) => label);
  }
}

export const isGlob = (label: string): boolean => label.includes('*');

/**
 * Unites the capabilities of each label. One denial of a label removes all its capabilities, whatever the order of the
 * policies (OP-123, OP-124).
 */
function united<Capability extends string>(
  rules: Iterable<readonly [label: string, capabilities: readonly OrDeny<Capability>[]]>,
): Map<string, Granted<Capability>> {
  const named = new Map<string, Set<OrDeny<Capability>>>();
  for (const [label, capabilities] of rules) {
    const before = named.get(label) ?? new Set();
    for (const capability of capabilities) before.add(capability);
    named.set(label, before);
  }
  return new Map([...named].map(([label, capabilities]) => [label, withoutDenied(capabilities)]));
}

export function withoutDenied<Capability extends string>(
  capabilities: ReadonlySet<OrDeny<Capability>>,
): Granted<Capability> {
  if (capabilities.has('deny')) return new Set();
  return new Set([...capabilities].filter((one): one is Capability => one !== 'deny'));
}

/**
 * Orders patterns by closeness. Of two equally close patterns, the one that sorts last by its bytes comes first
 * (OP-133).
 */
function closestFirst<Capability extends string>(globs: readonly GlobRule<Capability>[]): GlobRule<Capability>[] {
  return globs
    .map((rule) => {
      const bytes = Buffer.from(rule.glob);
      return { rule, bytes, closeness: bytes.length - stars(rule.glob) };
    })
    .toSorted((a, b) => b.closeness - a.closeness || Buffer.compare(b.bytes, a.bytes))
    .map(({ rule }) => rule);
}

const stars = (glob: string): number => glob.split('*').length - 1;
