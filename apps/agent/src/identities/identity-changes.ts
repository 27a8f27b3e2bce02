import type { WorkloadIdentity } from '@waybill/model';
import { nameOf } from './wanted-identities.js';

/** What a task has done to it because tokens were renewed, and the identity that is named for it. */
export type IdentityAction =
  | { readonly kind: 'restart'; readonly identity: string }
  | { readonly kind: 'signal'; readonly identity: string; readonly signal: string };

/** AU-159, AU-160: a restart makes everything else needless and happens once; each signal is sent once. */
export function identityActions(renewed: readonly WorkloadIdentity[]): IdentityAction[] {
  const restart = renewed.find(({ ChangeMode }) => ChangeMode === 'restart');
  if (restart) return [{ kind: 'restart', identity: nameOf(restart) }];
  const signals = renewed.filter(({ ChangeMode }) => ChangeMode === 'signal');
  return signals
    .filter(({ ChangeSignal }, at) => signals.findIndex((other) => other.ChangeSignal === ChangeSignal) === at)
    .map((identity) => ({ kind: 'signal', identity: nameOf(identity), signal: identity.ChangeSignal }));
}
