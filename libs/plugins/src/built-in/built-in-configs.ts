import type { ConfigFault } from '../config-fault.js';
import { type CheckedConfig, mayVanish } from './config-shape.js';
import { checkDockerConfig } from './docker-config.js';
import { checkExecConfig } from './exec-config.js';
import { checkMockConfig } from './mock-config.js';
import { checkRawExecConfig } from './raw-exec-config.js';

type Check = (config: Readonly<Record<string, unknown>>) => CheckedConfig<unknown>;

/** The built-in drivers. The agent checks configurations before a start, and the API when a job comes. */
const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['docker', checkDockerConfig],
  ['exec', checkExecConfig],
  ['mock_driver', checkMockConfig],
  ['raw_exec', checkRawExecConfig],
]);

export const isBuiltIn = (driver: string): boolean => CHECKS.has(driver);

/**
 * Returns the faults of a configuration that no interpolation can repair, for a built-in driver (PG-42). Returns
 * undefined for any other driver.
 */
export function builtInConfigFaults(
  driver: string,
  config: Readonly<Record<string, unknown>>,
): readonly ConfigFault[] | undefined {
  const check = CHECKS.get(driver);
  return (
    check &&
    (check(config).faults ?? [])
      .filter((fault) => !mayVanish(fault, config))
      .map(({ path, message }) => ({ path, message }))
  );
}
