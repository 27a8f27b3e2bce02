import { contentHash } from '../encoding/content-hash.js';

/** What a rule gives: an ACL role, an ACL policy, or a management token. */
export type BindType = 'role' | 'policy' | 'management';

/** What somebody gets who logged in by an auth method, as it is stored. Times are RFC 3339. */
export interface BindingRule {
  ID: string;
  Description: string;
  /** Name of the method. It never changes (AU-33). */
  AuthMethod: string;
  /** Filter expression over mapped claims; empty: everybody (AU-46). */
  Selector: string;
  BindType: BindType;
  /** Name of the role or policy, in which `${value.<name>}` stands for a mapped claim; empty for `management`. */
  BindName: string;
  Hash: string;
  CreateTime: string;
  ModifyTime: string;
  CreateIndex: number;
  ModifyIndex: number;
}

/** What a writer says of a rule. `ModifyTime` is the time of the write; `CreateTime` is known where it is applied. */
export type BindingRuleSpecification = Omit<BindingRule, 'Hash' | 'CreateTime' | 'CreateIndex' | 'ModifyIndex'>;

/** Equal for rules that say the same (AU-36). */
export const bindingRuleHash = ({
  ID,
  Description,
  AuthMethod,
  Selector,
  BindType,
  BindName,
}: BindingRuleSpecification): string => contentHash({ ID, Description, AuthMethod, Selector, BindType, BindName });
