import type { Call } from '../command-spec.js';
import { environmentOf } from '../server/connection.js';
import { isUuid } from '../terminal/short-id.js';

/** Returns the secret that requests send, from the flag or the environment (CL-121). */
export const ownToken = ({ flags, env }: Pick<Call, 'flags' | 'env'>): string | undefined =>
  flags.text('token') ?? environmentOf(env, 'TOKEN');

/** Whether a credential is the secret of a token. Any other credential is a workload identity (CL-842). */
export const isTokenSecret = (credential: string): boolean => isUuid(credential.trim().toLowerCase());
