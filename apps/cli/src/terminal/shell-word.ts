/** Words that a shell does not change. */
const PLAIN = /^[\w./:=,@%+-]+$/;
/** Characters that a shell interprets between double quotes. */
const ACTIVE = /["$`\\!]/;

/** Quotes one word of a command for copying into a shell, if a shell would otherwise change it. */
export const shellWord = (text: string): string => (PLAIN.test(text) ? text : quoted(text));

/** Formats `-flag="value"`, quoted so that a shell passes on the value unchanged. */
export const shellFlag = (flag: string, value: string): string =>
  `-${flag}=${ACTIVE.test(value) ? quoted(value) : `"${value}"`}`;

export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
