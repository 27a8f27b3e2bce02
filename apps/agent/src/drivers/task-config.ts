import {
  type CheckedConfig,
  checkDockerConfig,
  checkExecConfig,
  checkMockConfig,
  checkRawExecConfig,
  type DockerConfig,
  type ExecConfig,
  type RawExecConfig,
} from '@waybill/plugins';
import { TaskConfigError } from './driver.js';

type Given = Readonly<Record<string, unknown>>;

// Each function parses a task's configuration with its driver's shape (AG-104). @throws TaskConfigError with all faults

export const dockerConfig = (config: Given): DockerConfig => accepted(checkDockerConfig(config));
export const execConfig = (config: Given): ExecConfig => accepted(checkExecConfig(config));
export const mockConfigMembers = (config: Given): Given => accepted(checkMockConfig(config));
export const rawExecConfig = (config: Given): RawExecConfig => accepted(checkRawExecConfig(config));

function accepted<T>(checked: CheckedConfig<T>): T {
  if (checked.faults) throw new TaskConfigError(checked.faults.map(({ message }) => message).join('; '));
  return checked.config;
}
