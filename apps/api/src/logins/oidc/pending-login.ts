import { LOGIN_PENDING_MS } from '@waybill/journal';
import { badRequest } from '../../http/api-error.js';

/** Logins that one address may begin within LOGIN_PENDING_MS (AU-95). */
export const MAX_PENDING_PER_ADDRESS = 100;

/** A login that was begun, until the provider has sent its caller back (AU-93). */
export interface PendingLogin {
  readonly method: string;
  readonly redirectUri: string;
  readonly state: string;
  /** PKCE; undefined: the method did not want it. */
  readonly verifier?: string | undefined;
  readonly begunMs: number;
}

/** Where pending logins are kept, by the nonce of their caller. */
export interface PendingLogins {
  /**
   * Keeps a login, unless there is one of this nonce: then that one is answered, however many ask at once.
   * @throws ApiError 429: too many are pending
   */
  begin(nonce: string, login: PendingLogin): Promise<PendingLogin>;
  /** The login of a nonce, which stays. */
  find(nonce: string): Promise<PendingLogin | undefined>;
  /** Takes the login of a nonce out: of several that ask at once, one gets it. */
  takeLogin(nonce: string): Promise<PendingLogin | undefined>;
}

/** A nonce stands for one login: it may be asked about again, but not for another method or way back (AU-93). @throws Refusal invalid */
export function mustBeSameLogin(kept: PendingLogin, asked: PendingLogin): void {
  if (kept.method !== asked.method || kept.redirectUri !== asked.redirectUri) throw badRequest('nonce reuse detected');
}

/** What came back from the provider, and what must come back. */
export interface Callback {
  readonly method: string;
  readonly state: string;
  readonly redirectUri: string;
}

/** Why a pending login cannot be completed by what came back (AU-98); undefined: it can. */
export function callbackProblem(pending: PendingLogin, callback: Callback, nowMs: number): string | undefined {
  if (pending.method !== callback.method) return 'the login was begun with another auth method';
  if (pending.state !== callback.state) return 'authentication request state and authorization state are not equal';
  if (pending.redirectUri !== callback.redirectUri)
    return 'unauthorized redirect_uri: it is not that of the authentication request';
  if (nowMs - pending.begunMs > LOGIN_PENDING_MS) return 'authentication request is expired';
  return undefined;
}
