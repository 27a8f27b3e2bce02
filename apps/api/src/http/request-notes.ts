/** VerifiedSubject says who logged in, in the words of the party that verified it (AU-274). */
export interface VerifiedSubject {
  readonly method: string;
  readonly issuer: string;
  readonly subject: string;
}

/** RequestNotes receive what the audit log should record, from the parts that answer a request (AU-274, AU-276). */
export interface RequestNotes {
  /** Notes that the credential of the request was checked and refused. */
  refused(credential: string): void;
  /** Notes that somebody has logged in with a verified credential of a third party. */
  loggedIn(login: VerifiedSubject): void;
  /** Notes that the request asks for a transaction with this request ID. */
  writes(requestId: string): void;
  /**
   * Is called before the head of an answer that is written to the connection piece by piece.
   * @throws Refusal internal if the answer may not begin because it cannot be recorded
   */
  beginsStream(status: number): Promise<void>;
}
