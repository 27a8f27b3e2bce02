/**
 * How much auth methods and binding rules may hold. The contract bounds names, descriptions and token lives (AU-11,
 * AU-31), the rest is Waybill's own: a login reads its method whole and evaluates each of the method's rules.
 */

/** Entries of each list and each map of a method. */
export const MAX_METHOD_ENTRIES = 256;
/** Bytes of one text of a method that is no PEM: URLs, IDs, scopes, claims, headers, secrets. */
export const MAX_METHOD_TEXT_BYTES = 4_096;
/** Bytes of a method's configuration as JSON: some dozens of keys and certificates, and it fits into one message. */
export const MAX_METHOD_CONFIG_BYTES = 256 * 1_024;
/** Bytes of the template of token names. What comes of it is cut to a token's name (AU-55). */
export const MAX_TOKEN_NAME_FORMAT_BYTES = 1_024;

/** Bytes of what people say about a binding rule (AU-31). */
export const MAX_RULE_DESCRIPTION_BYTES = 256;
/** Bytes of a rule's selector. Each login evaluates those of all rules of its method. */
export const MAX_SELECTOR_BYTES = 8 * 1_024;
/** Bytes of a name in which claims are to be filled. */
export const MAX_BIND_NAME_BYTES = 1_024;
