/** Who logged in, in the words of who vouches for it (AU-274). */
export interface VerifiedSubject {
  readonly method: string;
  readonly issuer: string;
  readonly subject: string;
}

/** What the parts that answer a request tell of it to the audit log (AU-274, AU-276). */
export interface RequestNotes {
  /** The credential of the request was looked at and refused. */
  refused(credential: string): void;
  /** Somebody has logged in by a third party's credential, which was verified. */
  loggedIn(login: VerifiedSubject): void;
  /** A transaction with this request id is asked for. */
  writes(requestId: string): void;
  /**
   * Before the head of an answer that is written to the connection piece by piece.
   * @throws Refusal internal: the answer may not begin, because it cannot be recorded
   */
  beginsStream(status: number): Promise<void>;
}
