/**
 * ServerTls says how a server proves itself, and whether its callers need a certificate. The files are in PEM, and the
 * server's own user reads them.
 */
export interface ServerTls {
  readonly certFile: string;
  readonly keyFile: string;
  /** The authority by which callers check the server. */
  readonly caFile: string;
  /** Requires a certificate of the authority from callers. Default false. */
  readonly verifyCallers?: boolean;
}
