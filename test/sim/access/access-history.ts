import type { AclPolicy, AclRole, AclToken } from '@waybill/model';
import type { Tables } from '@waybill/state';
import type { ReferenceState } from '../checks/reference-state.js';

/** Tokens, roles, policies and namespaces as they stood at an index. */
export interface AccessState {
  readonly tokens: ReadonlyMap<string, AclToken>;
  readonly roles: ReadonlyMap<string, AclRole>;
  readonly policies: ReadonlyMap<string, AclPolicy>;
  readonly namespaces: readonly string[];
}

interface Version extends AccessState {
  readonly index: number;
}

const TABLES: ReadonlySet<string> = new Set(['acl_token', 'acl_roles', 'acl_policy', 'namespaces']);

/** What was granted at every index of the log, as the log says. Memory: one copy for each change. */
export class AccessHistory {
  private readonly versions: Version[] = [
    { index: 0, tokens: new Map(), roles: new Map(), policies: new Map(), namespaces: [] },
  ];

  constructor(reference: ReferenceState) {
    reference.onApplied(({ index, changes }) => {
      if (changes.some(({ table }) => TABLES.has(table)))
        this.versions.push({ index, ...stateOf(reference.machine.tables) });
    });
  }

  /** Every state that was valid at one of the indexes, the newest first. */
  between(from: number, to: number): readonly AccessState[] {
    const first = this.versions.findLastIndex(({ index }) => index <= from);
    return this.versions
      .slice(first)
      .filter(({ index }, at) => at === 0 || index <= to)
      .toReversed();
  }

  get newest(): AccessState {
    return this.between(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)[0] as AccessState;
  }
}

const stateOf = ({ acl_token, acl_roles, acl_policy, namespaces }: Tables): AccessState => ({
  tokens: new Map(acl_token.entries()),
  roles: new Map(acl_roles.entries()),
  policies: new Map(acl_policy.entries()),
  namespaces: [...namespaces.all()].map(({ Name }) => Name),
});
