import type { Appliers } from '../machine/applier.js';
import { authMethodAppliers } from './auth-methods.js';
import { bindingRuleAppliers } from './binding-rules.js';
import { oneTimeTokenAppliers } from './one-time-tokens.js';
import { policyAppliers } from './policies.js';
import { roleAppliers } from './roles.js';
import { tokenAppliers } from './tokens.js';

type AccessTypes =
  | 'ACLPolicyUpsert'
  | 'ACLPolicyDelete'
  | 'ACLTokenUpsert'
  | 'ACLTokenDelete'
  | 'ACLTokenBootstrap'
  | 'ACLTokenRekey'
  | 'ACLRolesUpsert'
  | 'ACLRolesDelete'
  | 'OneTimeTokenUpsert'
  | 'OneTimeTokenDelete'
  | 'OneTimeTokenExpire'
  | 'ACLAuthMethodUpsert'
  | 'ACLAuthMethodDelete'
  | 'ACLBindingRuleUpsert'
  | 'ACLBindingRuleDelete';

/** Appliers of tokens, policies, roles and login methods (section 3.5). */
export const accessAppliers: Appliers<AccessTypes> = {
  ...policyAppliers,
  ...tokenAppliers,
  ...roleAppliers,
  ...oneTimeTokenAppliers,
  ...authMethodAppliers,
  ...bindingRuleAppliers,
};
