import { LOGIN_PENDING_MS } from '@waybill/journal';
import { badRequest } from '../../http/api-error.js';

/** The number of logins that one address may begin within LOGIN_PENDING_MS (AU-95). */
export const MAX_PENDING_PER_ADDRESS = 100;

/** PendingLogin is a login that was begun and waits for its caller to come back from the provider (AU-93). */
export interface PendingLogin {
  readonly method: string;
  /** The hash of the method when the login began. Absent if an earlier build began it. */
  readonly methodHash?: string | undefined;
  readonly redirectUri: string;
  readonly state: string;
  /** The verifier of PKCE. It is undefined if the method does not use PKCE. */
  readonly verifier?: string | undefined;
  readonly begunMs: number;
}

/** PendingLogins keeps pending logins by the nonce of their caller. */
export interface PendingLogins {
  /**
   * Keeps a login, unless there is one with this nonce. Then the result is that login, however many callers ask at
   * once.
   * @throws ApiError 429 if too many are pending
   */
  beginLogin(nonce: string, login: PendingLogin): Promise<PendingLogin>;
  /** Returns the login of a nonce and keeps it. */
  find(nonce: string): Promise<PendingLogin | undefined>;
  /** Takes the login of a nonce out. If several callers ask at once, one gets it. */
  takeLogin(nonce: string): Promise<PendingLogin | undefined>;
}

/**
 * Checks that a nonce stands for one login: it may be used again, but not for another method or redirect address
 * (AU-93). @throws Refusal invalid
 */
export function mustBeSameLogin(kept: PendingLogin, asked: PendingLogin): void {
  if (kept.method !== asked.method || kept.redirectUri !== asked.redirectUri) throw badRequest('nonce reuse detected');
}

/** Callback has what came back from the provider, and what must come back. */
export interface Callback {
  readonly method: string;
  readonly methodHash: string;
  readonly state: string;
  readonly redirectUri: string;
}

/**
 * A login uses one version of its method (AU-320): it must not begin at the provider of the old version and
 * end at that of the new one.
 */
const METHOD_CHANGED = 'the auth method has changed since the login began: log in again';

/** Returns why the callback cannot complete a pending login (AU-98). The result is undefined if it can. */
export function callbackProblem(pending: PendingLogin, callback: Callback, nowMs: number): string | undefined {
  if (pending.method !== callback.method) return 'the login was begun with another auth method';
  if (pending.methodHash !== undefined && pending.methodHash !== callback.methodHash) return METHOD_CHANGED;
  if (pending.state !== callback.state) return 'authentication request state and authorization state are not equal';
  if (pending.redirectUri !== callback.redirectUri)
    return 'unauthorized redirect_uri: it is not that of the authentication request';
  if (nowMs - pending.begunMs > LOGIN_PENDING_MS) return 'authentication request is expired';
  return undefined;
}
