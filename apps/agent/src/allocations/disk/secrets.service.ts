import type { ServiceContext } from '@waybill/service';
import { NoSecretsMemoryError, SecretsMemory } from './secrets-memory.store.js';

/** Where secrets of tasks are on this machine, and what its node says of that (AG-220). */
export interface Secrets {
  /** Absent: on its disk. */
  readonly memory: SecretsMemory | undefined;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A machine that cannot keep secrets in memory keeps them on its disk: jobs that mind have a constraint. */
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
