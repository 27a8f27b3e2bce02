import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Metadata, Server, ServerCredentials, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { decode } from '@msgpack/msgpack';
import { APP_VERSION, MAGIC_COOKIE, pluginMessage, type PluginService, pluginService, status } from '@waybill/plugins';
import type { SpecMessage } from '@waybill/plugins';

/** Described is what every plugin says about itself. */
export interface Described {
  /** The name of the driver, or of the device plugin. */
  readonly name: string;
  readonly version: string;
  /** The schema of the plugin's own configuration; absent means that it takes none. */
  readonly configSchema?: SpecMessage;
  /** Receives the plugin's own configuration, before anything else is called. */
  configure?(config: Readonly<Record<string, unknown>>): void;
}

/** RecoverableError says that another try may succeed. Throw it from `start`. */
export class RecoverableError extends Error {
  override readonly name = 'RecoverableError';
}

const TASK_NOT_FOUND = 'task not found for given id';

/** TaskNotFoundError says that the plugin does not know the task. */
export class TaskNotFoundError extends Error {
  override readonly name = 'TaskNotFoundError';
  constructor() {
    super(TASK_NOT_FOUND);
  }
}

/** UnimplementedError says that the plugin does not have a call, so that the agent does not ask again. */
export class UnimplementedError extends Error {
  override readonly name = 'UnimplementedError';
  constructor(method: string) {
    super(`${method} is not implemented by this plugin`);
  }
}

const RECOVERABLE_TYPE = 'type.googleapis.com/hashicorp.nomad.plugins.shared.structs.RecoverableError';

/** Converts an error to that of gRPC. */
export function callError(error: unknown): object {
  const details = error instanceof Error ? error.message : String(error);
  if (error instanceof UnimplementedError) return { code: status.UNIMPLEMENTED, details };
  if (!(error instanceof RecoverableError)) return { code: status.UNKNOWN, details };
  const value = pluginMessage('recoverable').serialize({ recoverable: true });
  const message = {
    code: status.FAILED_PRECONDITION,
    message: details,
    details: [{ type_url: RECOVERABLE_TYPE, value }],
  };
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', pluginMessage('status').serialize(message));
  return { code: status.FAILED_PRECONDITION, details, metadata };
}

/** ServiceHandlers are the handlers of one service, by method. Make them with `answering` and `streaming`. */
export type ServiceHandlers = Readonly<Record<string, (call: never, done: never) => unknown>>;

interface Unary {
  readonly request: never;
}

/** Makes a handler of a call with one answer. */
export const answering =
  <Request>(answer: (request: Request) => object | Promise<object> | void | Promise<void>) =>
  async (call: Unary, done: (error: object | null, answer?: object) => void): Promise<void> => {
    let given: object | void;
    try {
      given = await answer(call.request);
    } catch (error) {
      done(callError(error));
      return;
    }
    done(null, given ?? {});
  };

interface Streaming extends Unary {
  write(answer: object): boolean;
  once(event: string, listener: () => void): void;
  end(): void;
  emit(event: 'error', error: object): boolean;
  readonly cancelled: boolean;
}

/** Makes a handler of a call with a stream of answers. The stream ends when the agent leaves. */
export const streaming =
  <Request>(answers: (request: Request, signal: AbortSignal) => AsyncIterable<object>) =>
  async (call: Streaming): Promise<void> => {
    const leaving = new AbortController();
    call.once('cancelled', () => leaving.abort());
    try {
      for await (const answer of answers(call.request, leaving.signal)) {
        if (leaving.signal.aborted) return;
        if (!call.write(answer)) await new Promise<void>((resolve) => call.once('drain', resolve));
      }
      call.end();
    } catch (error) {
      if (!leaving.signal.aborted) call.emit('error', callError(error)); // gRPC sends it as the status
    }
  };

/** Resolves when the signal is aborted. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/**
 * Serves a plugin on a socket of its own, and tells the agent where it is. The process ends when the agent asks it to.
 * Started by hand, it says what it is and ends.
 */
export async function servePlugin(
  plugin: Described,
  type: 'DRIVER' | 'DEVICE',
  services: Partial<Record<PluginService, ServiceHandlers>>,
): Promise<void> {
  if (process.env[MAGIC_COOKIE.name] !== MAGIC_COOKIE.value) {
    process.stderr.write(`${plugin.name} is a plugin. The agent starts it; it cannot be run by hand.\n`);
    process.exitCode = 1;
    return;
  }
  process.on('SIGINT', () => {}); // meant for the agent
  const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 });
  const all: Partial<Record<PluginService, ServiceHandlers>> = {
    base: baseService(plugin, type),
    health: { Check: answering(() => ({ status: 'SERVING' })) },
    controller: {
      Shutdown: answering(() => {
        setImmediate(() => process.exit(0));
      }),
    },
    // eslint-disable-next-line require-yield
    // Prints go to the pipe of the standard output, so this stream stays silent until the agent leaves.
    stdio: { StreamStdio: () => {} },
    ...services,
  };
  for (const [name, service] of Object.entries(all) as [PluginService, ServiceHandlers][])
    server.addService(pluginService(name), service as UntypedServiceImplementation); // the schema says so
  const socket = path.join(tmpdir(), `plugin${randomBytes(6).toString('hex')}`);
  await new Promise<void>((resolve, reject) => {
    const bound = (error: Error | null): void => (error ? reject(error) : resolve());
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), bound);
  });
  process.stdout.write(`1|${APP_VERSION}|unix|${socket}|grpc|\n`);
}

function baseService(plugin: Described, type: string): ServiceHandlers {
  return {
    PluginInfo: answering(() => ({
      type,
      plugin_api_versions: ['v0.1.0'],
      plugin_version: plugin.version,
      name: plugin.name,
    })),
    ConfigSchema: answering(() => ({ spec: plugin.configSchema ?? null })),
    SetConfig: answering<{ msgpack_config: Uint8Array }>(({ msgpack_config: bytes }) => {
      if (bytes.length > 0) plugin.configure?.(decode(bytes) as Record<string, unknown>);
    }),
  };
}
