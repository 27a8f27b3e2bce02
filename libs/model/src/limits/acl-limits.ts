/**
 * How much tokens, policies and roles may hold. The contract sets the lengths of names and descriptions (OP-151, OP-161,
 * OP-165); the rest is Waybill's own: every request reads the policies of its caller, so their number and size bound
 * what a request costs before it is answered.
 */

/** Characters of a token's name (OP-151). */
export const MAX_TOKEN_NAME_CHARS = 256;
/** Policies that a token or a role names. People name a handful; each is a row that every request of the token reads. */
export const MAX_POLICY_LINKS = 256;
/** Roles that a token has, for the same reason. */
export const MAX_ROLE_LINKS = 256;
/** Bytes of a policy's rules: thousands of blocks, and a transaction with them still fits into one message. */
export const MAX_POLICY_RULES_BYTES = 256 * 1_024;
/** Bytes of the names of a namespace, job, group or task in a policy's JobACL, as long as the longest of their names. */
export const MAX_JOB_ACL_BYTES = 512;
/** Bytes of the name of a policy or role, or of the ID of a role, in a link: no object has a longer one. */
export const MAX_LINK_BYTES = 128;
/** Characters of what people say about a policy or role (OP-161, OP-165). */
export const MAX_ACL_DESCRIPTION_CHARS = 256;

/** How long a one-time token may be exchanged, ms (OP-159). */
export const ONE_TIME_TOKEN_TTL_MS = 10 * 60 * 1_000;
