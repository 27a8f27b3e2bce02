/** How a server proves itself, and whom it asks for a certificate. Files in PEM; the server's own user reads them. */
export interface ServerTls {
  readonly certFile: string;
  readonly keyFile: string;
  /** The authority that its callers check it with. */
  readonly caFile: string;
  /** Callers need a certificate of the authority. Default false. */
  readonly verifyCallers?: boolean;
}
