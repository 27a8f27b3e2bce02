/**
 * A stored one-time token, which can be exchanged once for the token of its accessor (OP-159, AU-244). Its secret is
 * not stored.
 */
export interface OneTimeToken {
  AccessorID: string;
  /** Message authentication code of the one-time secret under the cluster's key, hexadecimal. */
  OneTimeSecretHash: string;
  /** RFC 3339. */
  ExpiresAt: string;
  CreateIndex: number;
  ModifyIndex: number;
}

export type OneTimeTokenSpecification = Omit<OneTimeToken, 'CreateIndex' | 'ModifyIndex'>;
