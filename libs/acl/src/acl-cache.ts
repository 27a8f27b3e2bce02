import type { AclPolicy } from '@waybill/model';
import { Acl, type PolicySource } from './acl.js';
import { MAX_CACHED_ACLS } from './limits.js';

/** StoredPolicy has the members of a stored policy that its rights depend on. */
type StoredPolicy = Pick<AclPolicy, 'Name' | 'Rules' | 'ModifyIndex'>;

interface CachedAcl {
  readonly acl: Acl;
  /** The rules from which the ACL was compiled, in the order of the key. */
  readonly rules: readonly string[];
}

/**
 * AclCache keeps compiled rules under the combination of policy names and ModifyIndexes. Callers read the token, its
 * roles and its policies anew for each request (OP-117); the cache saves only the compiling. It compares the rules as
 * well: after a power cut has taken the end of a log, an index may belong to another version than before.
 *
 * It keeps 512 combinations. It evicts the least recently used combination, whose next request then compiles again:
 * about 0.2 ms for a policy of a usual size, 0.1 s for one of the largest size (measured on a busy machine with two
 * cores). [OP-118, AU-221]
 */
export class AclCache {
  /** The compiled ACLs, the least recently used first. */
  private readonly cached = new Map<string, CachedAcl>();

  constructor(private readonly limit = MAX_CACHED_ACLS) {}

  get size(): number {
    return this.cached.size;
  }

  /**
   * Returns the compiled ACL. The order of the policies does not matter. @throws Refusal as `Acl.compile` does; the
   * cache keeps nothing then
   */
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

  /** Returns the compiled ACL of stored policies; without any, it allows nothing. @throws Refusal as `get` does */
  ofPolicies(policies: readonly StoredPolicy[]): Acl {
    if (policies.length === 0) return Acl.none;
    return this.get(
      policies.map(({ Name, Rules, ModifyIndex }) => ({ name: Name, rules: Rules, modifyIndex: ModifyIndex })),
    );
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
