import type { ServiceContext } from '@waybill/service';
import { NoSecretsMemoryError, SecretsMemory } from './secrets-memory.store.js';

/** Secrets says where this machine keeps the secrets of tasks, with the node's attributes about it (AG-220). */
export interface Secrets {
  /** The memory for secrets; absent if they are on the disk. */
  readonly memory: SecretsMemory | undefined;
  readonly attributes: Readonly<Record<string, string>>;
}

/**
 * Returns the place of secrets. A machine that cannot keep them in memory keeps them on its disk. Jobs that require
 * memory have a constraint.
 */
export function secretsOf({ settings, logger }: ServiceContext, dir: string): Secrets {
  try {
    if (!settings.WAYBILL_AGENT_SECRETS_IN_MEMORY)
      throw new NoSecretsMemoryError('WAYBILL_AGENT_SECRETS_IN_MEMORY is off');
    return { memory: SecretsMemory.find(dir), attributes: { 'secrets.memory': 'true' } };
  } catch (error) {
    if (!(error instanceof NoSecretsMemoryError)) throw error;
    logger.warn('secrets of tasks are kept on the disk', { reason: error.message });
    return { memory: undefined, attributes: { 'secrets.memory': 'false', 'secrets.memory.missing': error.message } };
  }
}
