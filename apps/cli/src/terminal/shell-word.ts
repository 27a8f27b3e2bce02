/** What a shell takes as it stands. */
const PLAIN = /^[\w./:=,@%+-]+$/;
/** What a shell does something about between double quotes. */
const ACTIVE = /["$`\\!]/;

/** One word of a command that people copy into a shell: quoted where a shell would make something else of it. */
export const shellWord = (text: string): string => (PLAIN.test(text) ? text : quoted(text));

/** `-flag="value"`, quoted so that a shell gives back the value. */
export const shellFlag = (flag: string, value: string): string =>
  `-${flag}=${ACTIVE.test(value) ? quoted(value) : `"${value}"`}`;

export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
