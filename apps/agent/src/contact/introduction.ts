/**
 * MachineIntroduction has the token by which this machine registers for the first time (AU-206). A machine that has
 * registered presents none: the servers know its secret.
 */
export interface MachineIntroduction {
  /** Returns undefined if the machine has registered, or has no token. Read for each attempt: a person may bring one. */
  token(): Promise<string | undefined>;
  /** Handles the first good registration: the token is removed. */
  registered(): Promise<void>;
  /** Handles a registration that the servers do not permit: they may have forgotten this machine (AU-207). */
  refused(): Promise<void>;
}
