import { Acl, type PolicySource } from './acl.js';
import { MAX_CACHED_ACLS } from './limits.js';

interface CachedAcl {
  readonly acl: Acl;
  /** The rules it was compiled from, in the order of the key. */
  readonly rules: readonly string[];
}

/**
 * Compiled rules under the combination of policy names and ModifyIndexes (OP-118, AU-221). Callers read token, roles and
 * policies anew for each request (OP-117); only the compiling is spared. Rules are compared as well: where a power cut
 * has taken the end of a log, an index may mean another version than before.
 *
 * It keeps 512 combinations. The one that was asked for least recently goes first, and costs its next request the
 * compiling: about 0.2 ms for a policy as people write them, 0.1 s for one of the largest size (measured on a busy machine
 * with two cores).
 */
export class AclCache {
  /** The least recently asked for first. */
  private readonly cached = new Map<string, CachedAcl>();

  constructor(private readonly limit = MAX_CACHED_ACLS) {}

  get size(): number {
    return this.cached.size;
  }

  /** The order of the policies does not matter. @throws Refusal as `Acl.compile`; nothing is kept then */
  get(policies: readonly PolicySource[]): Acl {
    const sorted = policies.toSorted((a, b) => compare(a.name, b.name) || a.modifyIndex - b.modifyIndex);
    const key = JSON.stringify(sorted.map(({ name, modifyIndex }) => [name, modifyIndex]));
    const rules = sorted.map((policy) => policy.rules);
    const found = this.cached.get(key);
    const isSame = found?.rules.every((text, at) => text === rules[at]) ?? false;
    const entry = found && isSame ? found : { acl: Acl.compile(sorted), rules };
    this.keep(key, entry);
    return entry.acl;
  }

  private keep(key: string, entry: CachedAcl): void {
    this.cached.delete(key);
    this.cached.set(key, entry);
    if (this.cached.size <= this.limit) return;
    const [oldest] = this.cached.keys();
    if (oldest !== undefined) this.cached.delete(oldest);
  }
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
