import { setTimeout as pause } from 'node:timers/promises';
import { decode } from '@msgpack/msgpack';
import type {
  AttributeMessage,
  CapabilitiesMessage,
  ExecAnswer,
  ExecInput,
  NetworkOverrideMessage,
  SpecMessage,
  TaskConfigMessage,
  TaskEventMessage,
  TaskHandleMessage,
  TimeMessage,
  UsageMessage,
} from '@waybill/plugins';
import {
  aborted,
  answering,
  callError,
  type Described,
  servePlugin,
  type ServiceHandlers,
  streaming,
  TaskNotFoundError,
  UnimplementedError,
} from './plugin-server.js';

/** DriverTask is a task to start. */
export interface DriverTask {
  readonly id: string;
  /** The decoded `config` block of the task, with all names of the schema. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The directory of the task. */
  readonly directory: string;
  /** All that the agent says about the task. */
  readonly all: TaskConfigMessage;
}

export interface DriverExit {
  readonly exitCode: number;
  readonly signal?: number;
  readonly oomKilled?: boolean;
}

export interface DriverHealthReport {
  readonly health: 'UNDETECTED' | 'UNHEALTHY' | 'HEALTHY';
  readonly description: string;
  /** Values of one of the types of an attribute. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
}

/** CommandIo connects a command that runs beside a task with the person who runs it. */
export interface CommandIo {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly resizes: (listener: (size: { height: number; width: number }) => void) => void;
  write(stream: 'stdout' | 'stderr', data: Uint8Array): Promise<void>;
  /** Aborted when the person has left. The command has to be killed then. */
  readonly signal: AbortSignal;
}

type Usage = {
  /** Of one fully used core, 100. */
  readonly cpuPercent?: number;
  readonly memoryBytes?: number;
};

/** DriverPlugin is a way to run tasks. All tasks have an id, which is new at each start. */
export interface DriverPlugin extends Described {
  readonly taskSchema: SpecMessage;
  readonly capabilities?: Partial<CapabilitiesMessage>;
  /** Returns the driver's health now and whenever it changes. Without it, the driver is healthy. */
  fingerprint?(signal: AbortSignal): AsyncIterable<DriverHealthReport>;
  /** Starts a task. Returns what `recover` needs to find it again. */
  start(task: DriverTask): Promise<{ readonly state: unknown; readonly network?: NetworkOverrideMessage }>;
  /** Finds a task again after the plugin was started anew. @throws any error if it is gone */
  recover(task: DriverTask, state: unknown): Promise<void>;
  /** Resolves when the task has ended. @throws TaskNotFoundError */
  wait(taskId: string): Promise<DriverExit>;
  /** Stops the task, and resolves when it is gone. @throws TaskNotFoundError */
  stop(taskId: string, timeoutMs: number, signal: string): Promise<void>;
  /** Removes the task. @throws TaskNotFoundError, or any error if it runs and `force` is false */
  destroy(taskId: string, force: boolean): Promise<void>;
  signal?(taskId: string, signal: string): Promise<void>;
  usage?(taskId: string): Promise<Usage>;
  exec?(taskId: string, command: readonly string[], tty: boolean, io: CommandIo): Promise<DriverExit>;
  /** Returns events of tasks as they happen. */
  events?(signal: AbortSignal): AsyncIterable<Partial<TaskEventMessage>>;
}

/** Serves a driver. It is all that the main file of a driver plugin calls. */
export async function serveDriver(driver: DriverPlugin): Promise<void> {
  await servePlugin(driver, 'DRIVER', { driver: driverService(driver) });
}

/** The time after which a task whose end is not known runs. */
const NOTICE_MS = 20;

type ById = { readonly task_id: string };

/** Returns the handlers of a driver, for plugins that replace some of them. */
export function driverService(driver: DriverPlugin): ServiceHandlers {
  const noSuchTask = (): never => {
    throw new TaskNotFoundError();
  };
  /** The tasks that are starting, or known until they are destroyed. */
  const started = new Set<string>();
  const waits = new Map<string, Promise<DriverExit>>();
  /** Returns the one wait for a task that all callers share. */
  const exitOf = (id: string): Promise<DriverExit> => {
    const waiting = waits.get(id) ?? driver.wait(id);
    waits.set(id, waiting);
    waiting.catch(() => void (waits.get(id) === waiting && waits.delete(id)));
    return waiting;
  };
  /** Makes a task known. It stays unknown if `work` fails. */
  const takeUp = async <T>(id: string, work: () => Promise<T>): Promise<T> => {
    started.add(id);
    try {
      const result = await work();
      waits.delete(id); // an earlier caller may wait for a task that was not there
      void exitOf(id).catch(() => {}); // a caller of WaitTask gets the error
      return result;
    } catch (error) {
      started.delete(id);
      throw error;
    }
  };
  return {
    TaskConfigSchema: answering(() => ({ spec: driver.taskSchema })),
    Capabilities: answering(() => ({
      capabilities: {
        send_signals: driver.signal !== undefined,
        exec: driver.exec !== undefined,
        network_isolation_modes: ['HOST'],
        ...driver.capabilities,
      },
    })),
    Fingerprint: streaming(async function* (_request, signal) {
      if (!driver.fingerprint) {
        yield healthAnswer({ health: 'HEALTHY', description: 'Healthy' }, driver.name);
        await aborted(signal);
        return;
      }
      for await (const report of driver.fingerprint(signal)) yield healthAnswer(report, driver.name);
    }),
    Init: answering(() => {}),
    Shutdown: answering(() => {}),
    StartTask: answering<{ task: TaskConfigMessage }>(async ({ task }) => {
      if (started.has(task.id)) throw new Error(`task with ID "${task.id}" already started`);
      const { state, network } = await takeUp(task.id, () => driver.start(taskOf(task)));
      const handle = { version: 1, config: task, state: 'RUNNING', driver_state: Buffer.from(JSON.stringify(state)) };
      return { result: 'SUCCESS', handle, ...(network && { network_override: network }) };
    }),
    RecoverTask: answering<{ handle: TaskHandleMessage | null }>(async ({ handle }) => {
      const config = handle?.config;
      if (!config) return noSuchTask();
      if (started.has(config.id)) return; // it is known already
      const state: unknown = JSON.parse(Buffer.from(handle.driver_state).toString());
      await takeUp(config.id, () => driver.recover(taskOf(config), state));
    }),
    WaitTask: answering<ById>(async ({ task_id: id }) => ({ result: exitAnswer(await exitOf(id)) })),
    StopTask: answering<ById & { timeout: TimeMessage | null; signal: string }>(({ task_id: id, timeout, signal }) =>
      driver.stop(id, timeout ? Number(timeout.seconds) * 1_000 + timeout.nanos / 1e6 : 0, signal),
    ),
    DestroyTask: answering<ById & { force: boolean }>(async ({ task_id: id, force }) => {
      await driver.destroy(id, force);
      started.delete(id);
      waits.delete(id);
    }),
    SignalTask: answering<ById & { signal: string }>(async ({ task_id: id, signal }) => {
      if (!driver.signal) throw new Error('SignalTask is not supported by this driver');
      await driver.signal(id, signal);
    }),
    InspectTask: answering<ById>(async ({ task_id: id }) => {
      const exit = await Promise.race([exitOf(id), pause(NOTICE_MS, undefined)]);
      return { task: { id, state: exit ? 'EXITED' : 'RUNNING', ...(exit && { result: exitAnswer(exit) }) } };
    }),
    TaskStats: streaming<ById & { collection_interval: TimeMessage | null }>(async function* (
      { task_id: id, collection_interval: interval },
      signal,
    ) {
      const everyMs = interval ? Number(interval.seconds) * 1_000 + interval.nanos / 1e6 : 1_000;
      if (!driver.usage) throw new UnimplementedError('TaskStats');
      while (!signal.aborted) {
        const usage = usageAnswer(await driver.usage(id));
        yield { stats: { id, timestamp: now(), agg_resource_usage: usage } };
        await Promise.race([aborted(signal), new Promise((resolve) => setTimeout(resolve, everyMs))]);
      }
    }),
    TaskEvents: streaming(async function* (_request, signal) {
      if (driver.events) yield* driver.events(signal);
      await aborted(signal);
    }),
    ExecTaskStreaming: (call: ExecCall) => void runExec(driver, call),
    ExecTask: answering(() => noSuchTask()),
    CreateNetwork: answering(() => {
      throw new Error('CreateNetwork RPC not supported by driver');
    }),
    DestroyNetwork: answering(() => {
      throw new Error('DestroyNetwork RPC not supported by driver');
    }),
  };
}

const now = (): TimeMessage => ({ seconds: Math.floor(Date.now() / 1_000), nanos: (Date.now() % 1_000) * 1e6 });

const taskOf = (all: TaskConfigMessage): DriverTask => ({
  id: all.id,
  config: decode(all.msgpack_driver_config) as Record<string, unknown>,
  directory: `${all.alloc_dir}/${all.name}`,
  all,
});

const exitAnswer = ({ exitCode, signal = 0, oomKilled = false }: DriverExit): object => ({
  exit_code: exitCode,
  signal,
  oom_killed: oomKilled,
});

function healthAnswer({ health, description, attributes = {} }: DriverHealthReport, name: string): object {
  const own = health === 'UNDETECTED' ? {} : { [`driver.${name}`]: true };
  const all = Object.entries({ ...own, ...attributes });
  return {
    health,
    health_description: description,
    attributes: Object.fromEntries(all.map(([key, value]) => [key, attributeOf(value)])),
  };
}

/** Converts a value to an attribute without a unit. */
export function attributeOf(value: string | number | boolean): AttributeMessage {
  if (typeof value === 'string') return { string_val: value, unit: '' };
  if (typeof value === 'boolean') return { bool_val: value, unit: '' };
  return Number.isSafeInteger(value) ? { int_val: String(value), unit: '' } : { float_val: value, unit: '' };
}

const usageAnswer = ({ cpuPercent, memoryBytes }: Usage): Partial<Record<keyof UsageMessage, object>> => ({
  cpu: { percent: cpuPercent ?? 0, measured_fields: cpuPercent === undefined ? [] : ['PERCENT'] },
  memory: { rss: memoryBytes ?? 0, measured_fields: memoryBytes === undefined ? [] : ['RSS'] },
});

interface ExecCall extends AsyncIterable<ExecInput> {
  write(answer: Partial<ExecAnswer> | object): boolean;
  once(event: string, listener: () => void): void;
  on(event: string, listener: () => void): void;
  end(): void;
  emit(event: 'error', error: object): boolean;
}

async function runExec(driver: DriverPlugin, call: ExecCall): Promise<void> {
  const leaving = new AbortController();
  call.once('cancelled', () => leaving.abort());
  call.on('error', () => leaving.abort());
  const inputs = call[Symbol.asyncIterator]();
  const listeners: ((size: { height: number; width: number }) => void)[] = [];
  try {
    const first = await inputs.next();
    const setup = first.done ? undefined : first.value.setup;
    if (!setup) throw new Error('first message should always be setup');
    if (!driver.exec) throw new Error('exec is not supported by this driver');
    const result = await driver.exec(setup.task_id, setup.command, setup.tty, {
      stdin: stdinOf(inputs, listeners),
      resizes: (listener) => void listeners.push(listener),
      signal: leaving.signal,
      write: async (stream, data) => {
        if (leaving.signal.aborted || call.write({ [stream]: { data } })) return;
        await new Promise<void>((resolve) => {
          call.once('drain', resolve);
          leaving.signal.addEventListener('abort', () => resolve(), { once: true });
        });
      },
    });
    if (leaving.signal.aborted) return;
    for (const stream of ['stdout', 'stderr']) call.write({ [stream]: { close: true } });
    call.write({ exited: true, result: exitAnswer(result) });
    call.end();
  } catch (error) {
    if (!leaving.signal.aborted) call.emit('error', callError(error)); // gRPC sends it as the status
  }
}

async function* stdinOf(
  inputs: AsyncIterator<ExecInput>,
  listeners: readonly ((size: { height: number; width: number }) => void)[],
): AsyncGenerator<Uint8Array> {
  for (;;) {
    const next = await inputs.next().catch(() => ({ done: true as const, value: undefined }));
    if (next.done) return;
    const { stdin, tty_size: size } = next.value;
    if (size) for (const listener of listeners) listener(size);
    if (stdin?.data && stdin.data.length > 0) yield stdin.data;
    if (stdin?.close) return;
  }
}
