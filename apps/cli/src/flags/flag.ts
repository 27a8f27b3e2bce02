/**
 * Type of a flag's value. A `switch` takes a value only with `=`. A `list` may be repeated. An `integer` is a whole
 * number. A `duration` is written as `1h30m` and returned in milliseconds.
 */
export type FlagKind = 'switch' | 'text' | 'list' | 'integer' | 'duration';

/** One flag of a command. The parser and the help use the same table (CL-109). */
export interface Flag {
  /** Name without dashes. */
  readonly name: string;
  readonly kind: FlagKind;
  /** Placeholder for the value in the help, such as `n`. */
  readonly value?: string;
  readonly help: string;
}
