/** What the parts that answer a request tell of it to the audit log (AU-274, AU-276). */
export interface RequestNotes {
  /** The credential of the request was looked at and refused. */
  refused(credential: string): void;
  /** A transaction with this request id is asked for. */
  writes(requestId: string): void;
  /**
   * Before the head of an answer that is written to the connection piece by piece.
   * @throws Refusal internal: the answer may not begin, because it cannot be recorded
   */
  beginsStream(status: number): Promise<void>;
}
