const SHORT = 8;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const isUuid = (text: string): boolean => UUID.test(text);

/** Formats an ID for tables: 8 characters, or in full when verbose. */
export const shortId = (id: string | undefined, verbose = false): string =>
  verbose ? (id ?? '') : (id ?? '').slice(0, SHORT);
