import { NotDone } from '../../api/api-failure.js';
import { callApi } from '../../api/client.js';
import type { ACLToken } from '../../api/contract.js';

/** The key of a sign-in that has begun in this tab and waits for the provider to send the browser back. */
const KEY = 'waybill.sign-in';
const NONCE_BYTES = 18;

interface Begun {
  readonly AuthMethodName: string;
  readonly RedirectURI: string;
  readonly ClientNonce: string;
}

/** ProviderAnswer is what the provider puts into the address with which it sends the browser back. */
export interface ProviderAnswer {
  readonly state?: string;
  readonly code?: string;
  readonly iss?: string;
  readonly error?: string;
  readonly error_description?: string;
}

/** Says whether the browser comes back from a provider. */
export const isAnswer = ({ code, error }: ProviderAnswer): boolean => code !== undefined || error !== undefined;

/** Returns the address to which a provider sends the browser back; the auth method has to allow it. */
export const redirectAddress = (): string => `${location.origin}/ui/settings/tokens`;

/** Leaves for the provider of an auth method. @throws ApiFailure, NotDone */
export async function beginSignIn(method: string): Promise<void> {
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)), (byte) => byte.toString(16)).join('');
  const begun: Begun = { AuthMethodName: method, RedirectURI: redirectAddress(), ClientNonce: nonce };
  const { AuthURL } = await callApi('PUT /v1/acl/oidc/auth-url', { body: begun });
  if (!/^https?:\/\//.test(AuthURL)) throw new NotDone(`The auth method names no address of a provider: ${AuthURL}`);
  sessionStorage.setItem(KEY, JSON.stringify(begun));
  location.assign(AuthURL);
}

/** Returns the token for which the provider has vouched. A sign-in is completed once. @throws ApiFailure, NotDone */
export async function completeSignIn(answer: ProviderAnswer): Promise<ACLToken> {
  const begun = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  if (answer.error !== undefined)
    throw new NotDone(`The provider refused the sign-in: ${answer.error_description ?? answer.error}`);
  if (begun === null) throw new NotDone('This tab has not begun a sign-in. Begin again.');
  const { state: State, code: Code, iss: Iss } = answer;
  return callApi('PUT /v1/acl/oidc/complete-auth', { body: { ...(JSON.parse(begun) as Begun), State, Code, Iss } });
}
