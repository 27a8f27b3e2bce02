/**
 * What a flag holds. `switch` takes a value only with `=`; `list` may be repeated; `integer` is a whole number;
 * `duration` is written as `1h30m` and read in milliseconds.
 */
export type FlagKind = 'switch' | 'text' | 'list' | 'integer' | 'duration';

/** One flag of a command, as accepted and as documented: the help is made from this table (CL-109). */
export interface Flag {
  /** Without dashes. */
  readonly name: string;
  readonly kind: FlagKind;
  /** Placeholder of the value in the help, such as `n`. */
  readonly value?: string;
  readonly help: string;
}
