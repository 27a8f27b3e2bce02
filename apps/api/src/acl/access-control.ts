import type { TokenLifeLimits } from '@waybill/model';
import type { BootstrapReset } from './bootstrap-reset.store.js';
import type { LoginHosts } from './login-hosts.js';
import type { MethodSecrets } from './method-secrets.js';
import type { TokenSecrets } from './token-secrets.js';

/** AccessControlParts are what the routes of access control need while it is on. */
export interface AccessControlParts {
  readonly secrets: TokenSecrets;
  readonly methodSecrets: MethodSecrets;
  readonly limits: TokenLifeLimits;
  readonly reset: BootstrapReset;
  readonly loginHosts: LoginHosts;
}

/** AccessControl is the access control of this API: off, or on with the cluster's key. */
export class AccessControl {
  /** @param parts undefined if access control is off */
  constructor(private readonly parts: AccessControlParts | undefined) {}

  get isOn(): boolean {
    return this.parts !== undefined;
  }

  /**
   * Returns the parts. Callers use it only while access control is on: `refuseWhileOff` refuses all of its paths
   * otherwise.
   */
  get on(): AccessControlParts {
    if (!this.parts) throw new Error('access control is off');
    return this.parts;
  }
}
