/**
 * What one policy may cost to read, to compile and to ask. Each limit has an error that names it. A policy with a block
 * for each of a thousand namespaces has about 100 KiB.
 */

/** Bytes of UTF-8 of a policy's text. With headers and a description it fits a message of the log (1 MiB) well. */
export const MAX_POLICY_BYTES = 256 << 10;
/** Blocks of a policy, those within others included: a question may look at each label of each policy of its token. */
export const MAX_POLICY_BLOCKS = 4_096;
/** Blocks within each other. What has a meaning is three deep: `namespace`, `variables`, `path`. */
export const MAX_POLICY_DEPTH = 8;
/** Compiled sets of policies that one `AclCache` keeps (AU-221). */
export const MAX_CACHED_ACLS = 512;
