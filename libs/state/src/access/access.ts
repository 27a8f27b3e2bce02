import type { Appliers } from '../machine/applier.js';
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
  | 'ACLRolesUpsert'
  | 'ACLRolesDelete'
  | 'OneTimeTokenUpsert'
  | 'OneTimeTokenDelete'
  | 'OneTimeTokenExpire';

/** Tokens, policies and roles of access control (section 3.5). */
export const accessAppliers: Appliers<AccessTypes> = {
  ...policyAppliers,
  ...tokenAppliers,
  ...roleAppliers,
  ...oneTimeTokenAppliers,
};
