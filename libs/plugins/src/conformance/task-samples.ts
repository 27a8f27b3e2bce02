import { ConfigError } from '../config-schema/config-decoder.js';
import type { ConfigSchema } from '../config-schema/config-schema.js';
import type { CapabilitiesMessage } from '../messages.js';

type Given = Readonly<Record<string, unknown>>;

/** TaskSamples are `config` blocks of tasks that the check starts. */
export interface TaskSamples {
  /** A task that runs until it is stopped. Without it, no task is started. */
  readonly task?: Given;
  /** A task that ends by itself within some seconds. */
  readonly shortTask?: Given;
  /** The exit code of the short task. The default is 0. */
  readonly exitCode?: number;
  /** A text that the short task writes to its output. */
  readonly says?: string;
  /** The shell inside of tasks, for commands beside them. The default is `/bin/sh`. */
  readonly shell?: string;
}

/** DriverUnderCheck is what the checks of tasks know about the driver. */
export interface DriverUnderCheck {
  readonly name: string;
  readonly schema: ConfigSchema;
  readonly capabilities: CapabilitiesMessage;
  readonly samples: TaskSamples;
  /** The configuration of the task that runs until it is stopped. */
  readonly encoded: Uint8Array;
}

/** @returns the bytes, or the reason why the sample does not fit */
export function encodedSample(schema: ConfigSchema, config: Given): Uint8Array | string {
  try {
    return schema.encode(config);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}
