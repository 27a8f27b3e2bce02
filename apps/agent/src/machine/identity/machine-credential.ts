/** IdentityStore keeps the signed identity of this machine over restarts of the agent. */
export interface IdentityStore {
  /** Returns undefined if there is none. */
  load(): Promise<string | undefined>;
  save(token: string): Promise<void>;
  remove(): Promise<void>;
}

/** The claims of a token as they are written in it, unverified. */
export type UnverifiedClaims = Readonly<Record<string, unknown>>;

/**
 * MachineCredential is the proof of this machine in its calls (AU-191): its secret, or its signed identity once the
 * servers gave it one.
 *
 * States: secret → identity → refused → identity. secret: there is no identity. identity: all calls are made with it. A
 * newer one replaces it once that is on disk (AU-197). refused: the servers refused the identity in a call, so calls are
 * made with the secret until a registration brings a new one (AU-198). A machine without a store keeps no identities and
 * asks for none.
 */
export class MachineCredential {
  private isRefused = false;
  private isRenewalRequested = false;
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly secretId: string,
    private readonly store?: IdentityStore,
    private token?: string,
  ) {}

  static async load(secretId: string, store: IdentityStore): Promise<MachineCredential> {
    return new MachineCredential(secretId, store, await store.load());
  }

  /** The secret or the signed identity, for the next call. */
  get current(): string {
    return this.token === undefined || this.isRefused ? this.secretId : this.token;
  }

  /** The members of a registration that say which identity this machine has. It is sent even if it was refused. */
  get inRegistration(): { readonly Identity?: string } {
    return this.store ? { Identity: this.token ?? '' } : {};
  }

  /** The members of a heartbeat that prove this machine and ask for a new identity. */
  get inHeartbeat(): { readonly SecretID: string; readonly RenewIdentity?: boolean } {
    const SecretID = this.current;
    return this.store ? { SecretID, RenewIdentity: this.isRenewalRequested } : { SecretID };
  }

  /** Makes the next heartbeat ask for a new identity (AU-199). */
  requestRenewal(): void {
    this.isRenewalRequested = true;
  }

  /** Uses a new identity from now on. @throws the error of the disk; then the old one stays in use */
  replace(token: string): Promise<void> {
    return this.inTurn(async () => {
      await this.store?.save(token);
      this.token = token;
      this.isRefused = false;
      this.isRenewalRequested = false;
    });
  }

  /**
   * Notes that the servers refused a call. @param used the credential of the call @returns whether that was an identity,
   * so that a registration may help
   */
  refused(used: string): boolean {
    if (used === this.secretId) return false;
    if (used === this.token) this.isRefused = true;
    return true;
  }

  /** Forgets the identity: the servers do not admit this machine by it (AU-207). @throws the error of the disk */
  forget(): Promise<void> {
    return this.inTurn(async () => {
      this.token = undefined;
      await this.store?.remove();
    });
  }

  /** Returns the claims of the identity; undefined if there is none. */
  claims(): UnverifiedClaims | undefined {
    return this.token === undefined ? undefined : claimsIn(this.token);
  }

  private inTurn(change: () => Promise<void>): Promise<void> {
    const done = this.last.then(change);
    this.last = done.catch(() => undefined);
    return done;
  }
}

function claimsIn(token: string): UnverifiedClaims | undefined {
  try {
    const [, payload = ''] = token.split('.');
    return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as UnverifiedClaims;
  } catch {
    return undefined;
  }
}
