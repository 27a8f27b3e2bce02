import { z } from 'zod';
import { checkConfig, type CheckedConfig } from './config-shape.js';

const KEYS = [
  'run_for',
  'exit_code',
  'exit_signal',
  'exit_err_msg',
  'signal_error',
  'stdout_string',
  'stdout_repeat',
  'stdout_repeat_duration',
  'stderr_string',
  'stderr_repeat',
  'stderr_repeat_duration',
  'start_error',
  'start_error_recoverable',
  'start_block_for',
  'kill_after',
  'plugin_exit_after',
  'driver_ip',
  'driver_advertise',
  'driver_port_map',
  'exec_command',
] as const;

/** The driver itself judges values, because a malformed one has to fail the start of a task (AG-260). */
const schema = z.strictObject(Object.fromEntries(KEYS.map((key) => [key, z.unknown().optional()])));

/** Checks the names in the `config` of a `mock_driver` task. */
export const checkMockConfig = (
  config: Readonly<Record<string, unknown>>,
): CheckedConfig<Readonly<Record<string, unknown>>> => checkConfig('mock_driver', schema, config);
