/**
 * What one policy may cost to read, to compile and to ask. Each limit has an error that names it. A policy with a block
 * for each of a thousand namespaces has about 100 KiB.
 */

/**
 * The largest size of a policy's text in bytes of UTF-8. With headers and a description it fits well into a message of
 * the log (1 MiB).
 */
export const MAX_POLICY_BYTES = 256 << 10;
/**
 * The largest number of blocks in a policy, nested blocks included. The number is limited because a question may look
 * at each label of each policy of its token.
 */
export const MAX_POLICY_BLOCKS = 4_096;
/** The largest depth of nested blocks. Valid blocks are three deep: `namespace`, `variables`, `path`. */
export const MAX_POLICY_DEPTH = 8;
/** The number of compiled sets of policies that one `AclCache` keeps (AU-221). */
export const MAX_CACHED_ACLS = 512;
