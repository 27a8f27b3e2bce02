/** GrantedToken is a token as Vault or Consul gives it. */
export interface GrantedToken {
  readonly token: string;
  /** The life of the token in milliseconds; null if it does not expire. */
  readonly validMs: number | null;
  /** Whether the token's life may be extended. */
  readonly renewable: boolean;
}

/** LoginService is one cluster of Vault or Consul, for the tokens of one task. */
export interface LoginService {
  /** The name in messages, such as `Vault`. */
  readonly product: string;
  /** Logs in by an identity's token. @throws ServerAwayError, ServerRefusedError */
  login(jwt: string): Promise<GrantedToken>;
  /** Extends the life of a token. Absent if the service cannot. @throws ServerAwayError, ServerRefusedError */
  renew?(token: string): Promise<GrantedToken>;
  /** Says whether the service still accepts a token. @throws ServerAwayError */
  accepts(token: string): Promise<boolean>;
  /** Makes a token invalid. @throws ServerAwayError, ServerRefusedError */
  end(token: string): Promise<void>;
}
