import { ConfigSchema } from './config-schema/config-schema.js';
import type { SpecMessage } from './config-schema/spec-message.js';
import {
  type CapabilitiesMessage,
  type DriverFingerprintMessage,
  durationMessage,
  type ExecAnswer,
  type ExecInput,
  type ExitMessage,
  type NetworkOverrideMessage,
  type TaskConfigMessage,
  type TaskEventMessage,
  type TaskHandleMessage,
  type TaskStatsMessage,
} from './messages.js';
import type { PluginDialogue } from './plugin-channel.js';
import type { CallLimits, PluginConnection } from './plugin-connection.js';
import { pluginMethod } from './schema.js';

const ASK_TIMEOUT_MS = 10_000;
const ACT_TIMEOUT_MS = 60_000;
const DESTROY_TIMEOUT_MS = 120_000;
/** A plugin may take this much longer than the task's own timeout to stop a task (PG-123). */
const STOP_GRACE_MS = 30_000;

export interface StartedTask {
  readonly result: string;
  readonly driver_error_msg: string;
  readonly handle: TaskHandleMessage | null;
  readonly network_override: NetworkOverrideMessage | null;
}

export interface InspectedTask {
  readonly task: { readonly id: string; readonly state: string; readonly result: ExitMessage | null } | null;
  readonly driver: { readonly attributes: Readonly<Record<string, string>> } | null;
  readonly network_override: NetworkOverrideMessage | null;
}

/**
 * The service of a driver (section 5 of the reference). All methods throw PluginError and PluginShutDownError. A call
 * that takes too long is an error; the process is not killed for it (PG-123).
 */
export class DriverClient {
  constructor(private readonly connection: PluginConnection) {}

  /** @throws InvalidSchemaError, JobspecError for a schema that is none */
  async taskConfigSchema(): Promise<ConfigSchema> {
    const { spec } = await this.call<{ spec: SpecMessage | null }>('TaskConfigSchema', {}, ASK_TIMEOUT_MS);
    return ConfigSchema.of(spec ?? { object: {} });
  }

  async capabilities(): Promise<CapabilitiesMessage> {
    const answer = await this.call<{ capabilities: CapabilitiesMessage | null }>('Capabilities', {}, ASK_TIMEOUT_MS);
    return answer.capabilities ?? NO_CAPABILITIES;
  }

  fingerprint(signal: AbortSignal): AsyncGenerator<DriverFingerprintMessage> {
    return this.connection.stream({ service: 'driver', method: 'Fingerprint', request: {} }, signal);
  }

  /** Prepares the driver for its work (PG-69). Not every driver has it. */
  async init(): Promise<void> {
    await this.call('Init', {}, ACT_TIMEOUT_MS);
  }

  /** It may take as long as it wants; `signal` cancels it. */
  startTask(task: TaskConfigMessage, signal?: AbortSignal): Promise<StartedTask> {
    return this.call('StartTask', { task }, undefined, signal);
  }

  async recoverTask(handle: TaskHandleMessage): Promise<void> {
    await this.call('RecoverTask', { task_id: handle.config?.id ?? '', handle }, ACT_TIMEOUT_MS);
  }

  /** Waits for the end of a task, however long it takes. */
  async waitTask(taskId: string): Promise<{ result: ExitMessage | null; err: string }> {
    return this.call('WaitTask', { task_id: taskId });
  }

  async stopTask(taskId: string, timeoutMs: number, signal: string): Promise<void> {
    const request = { task_id: taskId, timeout: durationMessage(timeoutMs), signal };
    await this.call('StopTask', request, timeoutMs + STOP_GRACE_MS);
  }

  async destroyTask(taskId: string, force: boolean): Promise<void> {
    await this.call('DestroyTask', { task_id: taskId, force }, DESTROY_TIMEOUT_MS);
  }

  inspectTask(taskId: string): Promise<InspectedTask> {
    return this.call('InspectTask', { task_id: taskId }, ACT_TIMEOUT_MS);
  }

  async signalTask(taskId: string, signal: string): Promise<void> {
    await this.call('SignalTask', { task_id: taskId, signal }, ACT_TIMEOUT_MS);
  }

  async *taskStats(taskId: string, intervalMs: number, signal: AbortSignal): AsyncGenerator<TaskStatsMessage> {
    const request = { task_id: taskId, collection_interval: durationMessage(intervalMs) };
    const answers = this.connection.stream<{ stats: TaskStatsMessage | null }>(
      { service: 'driver', method: 'TaskStats', request },
      signal,
    );
    for await (const { stats } of answers) if (stats) yield stats;
  }

  /**
   * Passes on the statistics of a task undecoded, every `intervalMs`; `taskStatsMessage` decodes them. Resolves when the
   * plugin ends the stream.
   */
  listenToStats(
    taskId: string,
    intervalMs: number,
    take: (answer: Uint8Array) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const request = { task_id: taskId, collection_interval: durationMessage(intervalMs) };
    return this.connection.listen({ service: 'driver', method: 'TaskStats', request }, take, signal);
  }

  taskEvents(signal: AbortSignal): AsyncGenerator<TaskEventMessage> {
    return this.connection.stream({ service: 'driver', method: 'TaskEvents', request: {} }, signal);
  }

  /** Runs a command beside a task (PG-67). The first input has to be the setup. */
  execTask(signal: AbortSignal): PluginDialogue<ExecInput, ExecAnswer> {
    return this.connection.open('driver', 'ExecTaskStreaming', signal);
  }

  private call<Answer>(method: string, request: object, timeoutMs?: number, signal?: AbortSignal): Promise<Answer> {
    const limits: CallLimits = { ...(timeoutMs !== undefined && { timeoutMs }), ...(signal && { signal }) };
    return this.connection.call<Answer>({ service: 'driver', method, request }, limits);
  }
}

/** Decodes an answer of `listenToStats`. Returns undefined for an empty one. @throws Error if it is none */
export function taskStatsMessage(answer: Uint8Array): TaskStatsMessage | undefined {
  const { responseDeserialize } = pluginMethod('driver', 'TaskStats');
  const { stats } = responseDeserialize(Buffer.from(answer)) as { stats: TaskStatsMessage | null }; // the schema says so
  return stats ?? undefined;
}

const NO_CAPABILITIES: CapabilitiesMessage = {
  send_signals: false,
  exec: false,
  fs_isolation: 'NONE',
  network_isolation_modes: [],
  must_create_network: false,
  mount_configs: 'ANY_MOUNTS',
  disable_log_collection: false,
  dynamic_workload_users: false,
};
