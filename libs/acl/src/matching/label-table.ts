import { globMatcher } from '@waybill/model';
import type { OrDeny } from '../capabilities.js';

/** What a label grants. No capability at all: the label denies, or has none. */
export type Granted<Capability extends string> = ReadonlySet<Capability>;

interface GlobRule<Capability extends string> {
  readonly glob: string;
  readonly matches: (name: string) => boolean;
  readonly granted: Granted<Capability>;
}

/**
 * Capabilities by label, those of several policies united (OP-123, OP-124). An exact label costs one look-up, a pattern
 * one linear match for each pattern that is closer than the one that matches.
 *
 * A pattern is the closer to a name the smaller (length of name − length of pattern + its stars) is (OP-132). The name's
 * length is the same for all, so the order does not depend on the name, and patterns stand in it: the first match counts.
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

  /** What counts for a name: its exact label, also when that grants less, else the closest pattern (OP-131, OP-132). */
  grantedTo(name: string): Granted<Capability> | undefined {
    return this.exactlyGrantedTo(name) ?? this.closestGrantedTo(name);
  }

  /** Undefined: no label is this name. */
  exactlyGrantedTo(name: string): Granted<Capability> | undefined {
    return this.exact.get(name);
  }

  /**
   * What the closest pattern grants; undefined: none matches. A star in a name is never a pattern, and no object has a
   * name with one, so nothing matches it (OP-136).
   */
  closestGrantedTo(name: string): Granted<Capability> | undefined {
    return isGlob(name) ? undefined : this.globs.find(({ matches }) => matches(name))?.granted;
  }

  /** Whether some label grants what is asked for, whatever there is of that name (OP-140). Looks at all labels. */
  grantsAnywhere(isEnough: (granted: Granted<Capability>) => boolean): boolean {
    return [...this.exact.values()].some(isEnough) || this.globs.some(({ granted }) => isEnough(granted));
  }

  /** All labels that grant something. */
  grantingLabels(): string[] {
    const globs = this.globs.map(({ glob, granted }) => [glob, granted] as const);
    return [...this.exact, ...globs].filter(([, { size }]) => size > 0).map(([label]) => label);
  }
}

export const isGlob = (label: string): boolean => label.includes('*');

/** One denial of a label takes all its capabilities, in whatever order the policies come (OP-123, OP-124). */
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

/** Of two that are as close the one that sorts last by its bytes comes first (OP-133). */
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
