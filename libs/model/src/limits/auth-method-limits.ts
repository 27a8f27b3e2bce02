/**
 * Limits of auth methods and binding rules. The contract sets those of names, descriptions and token lives (AU-11,
 * AU-31). The others are Waybill's own: a login reads its whole method and evaluates each rule of the method.
 */

/** Entries of each list and each map of a method. */
export const MAX_METHOD_ENTRIES = 256;
/** Bytes of one text of a method other than PEM: URLs, IDs, scopes, claims, headers, secrets. */
export const MAX_METHOD_TEXT_BYTES = 4_096;
/**
 * Bytes of a method's configuration as JSON: room for dozens of keys and certificates, and it fits into one message.
 */
export const MAX_METHOD_CONFIG_BYTES = 256 * 1_024;
/** Bytes of the template of token names. Its result is cut to the length of a token's name (AU-55). */
export const MAX_TOKEN_NAME_FORMAT_BYTES = 1_024;

/** Bytes of the description of a binding rule (AU-31). */
export const MAX_RULE_DESCRIPTION_BYTES = 256;
/** Bytes of a rule's selector. Each login evaluates the selectors of all rules of its method. */
export const MAX_SELECTOR_BYTES = 8 * 1_024;
/** Bytes of a rule's bind name before claims are filled in. */
export const MAX_BIND_NAME_BYTES = 1_024;
