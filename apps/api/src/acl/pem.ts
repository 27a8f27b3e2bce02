const BLOCK = /(-----BEGIN [A-Z0-9 ]+-----)([^-]*)(-----END [A-Z0-9 ]+-----)/g;

/** PEM that a client has put into one line, with line breaks again (AU-105). */
export const withLineBreaks = (pem: string): string =>
  pem.replaceAll(
    BLOCK,
    (_, begin: string, body: string, end: string) => `${begin}\n${body.replaceAll(/\s+/g, '\n').trim()}\n${end}`,
  );
