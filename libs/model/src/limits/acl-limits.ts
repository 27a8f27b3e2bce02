/**
 * Limits of tokens, policies and roles. The contract sets the lengths of names and descriptions (OP-151, OP-161,
 * OP-165). The others are Waybill's own: every request reads the policies of its caller, so their number and size bound
 * the cost of a request before it is answered.
 */

/** Characters of a token's name (OP-151). */
export const MAX_TOKEN_NAME_CHARS = 256;
/** Policies of a token or a role. People use a handful, and every request of the token reads a row for each. */
export const MAX_POLICY_LINKS = 256;
/** Roles of a token, for the same reason. */
export const MAX_ROLE_LINKS = 256;
/** Bytes of a policy's rules: room for thousands of blocks, and a transaction with them still fits into one message. */
export const MAX_POLICY_RULES_BYTES = 256 * 1_024;
/** Bytes of a name of a namespace, job, group or task in a policy's JobACL, like the longest of these names. */
export const MAX_JOB_ACL_BYTES = 512;
/** Bytes of the name of a policy or role, or of the ID of a role, in a link. No object has a longer one. */
export const MAX_LINK_BYTES = 128;
/** Characters of the description of a policy or role (OP-161, OP-165). */
export const MAX_ACL_DESCRIPTION_CHARS = 256;

/** Life of a one-time token, in ms (OP-159). */
export const ONE_TIME_TOKEN_TTL_MS = 10 * 60 * 1_000;
