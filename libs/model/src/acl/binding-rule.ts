import { contentHash } from '../encoding/content-hash.js';

/** What a rule grants: an ACL role, an ACL policy, or a management token. */
export type BindType = 'role' | 'policy' | 'management';

/** A stored rule: the grant for callers who log in with an auth method. Times are RFC 3339. */
export interface BindingRule {
  ID: string;
  Description: string;
  /** Name of the method, which never changes (AU-33). */
  AuthMethod: string;
  /** Filter expression over mapped claims. An empty one selects every login (AU-46). */
  Selector: string;
  BindType: BindType;
  /** Name of the role or policy. `${value.<name>}` stands for a mapped claim. Empty for `management`. */
  BindName: string;
  Hash: string;
  CreateTime: string;
  ModifyTime: string;
  CreateIndex: number;
  ModifyIndex: number;
}

/**
 * The members of a rule that its writer sets. `ModifyTime` is the time of the write. The state machine sets
 * `CreateTime` when it applies the write.
 */
export type BindingRuleSpecification = Omit<BindingRule, 'Hash' | 'CreateTime' | 'CreateIndex' | 'ModifyIndex'>;

/** Two rules with the same specification have the same hash (AU-36). */
export const bindingRuleHash = ({
  ID,
  Description,
  AuthMethod,
  Selector,
  BindType,
  BindName,
}: BindingRuleSpecification): string => contentHash({ ID, Description, AuthMethod, Selector, BindType, BindName });
