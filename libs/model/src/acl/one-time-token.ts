/** What may be exchanged once for the token of its accessor, as it is stored: the secret is not (OP-159, AU-244). */
export interface OneTimeToken {
  AccessorID: string;
  /** Hexadecimal; a message authentication code of the one-time secret under the cluster's key. */
  OneTimeSecretHash: string;
  /** RFC 3339. */
  ExpiresAt: string;
  CreateIndex: number;
  ModifyIndex: number;
}

export type OneTimeTokenSpecification = Omit<OneTimeToken, 'CreateIndex' | 'ModifyIndex'>;
