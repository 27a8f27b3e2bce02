const SHORT = 8;

/** An ID as tables show it: 8 characters, in full when verbose. */
export const shortId = (id: string | undefined, verbose = false): string =>
  verbose ? (id ?? '') : (id ?? '').slice(0, SHORT);
