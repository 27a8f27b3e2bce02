import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  type Metadata,
  Metadata as GrpcMetadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { PluginError } from './errors.js';
import type { PluginAddress } from './handshake.js';
import { pluginMessage, pluginMethod, type PluginService } from './schema.js';
import { status } from './status.js';

/** A call to one of the plugin's services. */
export interface PluginCall {
  readonly service: PluginService;
  readonly method: string;
  readonly request: object;
}

const RECOVERABLE_TYPE = 'hashicorp.nomad.plugins.shared.structs.RecoverableError';
const UNLIMITED = -1;

/** The gRPC side of one connection. Only this file needs gRPC, which loads 160 modules. */
export class PluginChannel {
  private readonly client: Client;

  constructor({ network, address }: PluginAddress) {
    this.client = new Client(network === 'unix' ? `unix:${address}` : address, credentials.createInsecure(), {
      'grpc.default_authority': 'localhost',
      'grpc.enable_http_proxy': 0,
      'grpc.enable_retries': 0,
      'grpc.max_receive_message_length': UNLIMITED,
      'grpc.max_send_message_length': UNLIMITED,
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  /** @returns false if no process listens there */
  ready(deadlineMs: number): Promise<boolean> {
    return new Promise((resolve) => this.client.waitForReady(deadlineMs, (error) => resolve(!error)));
  }

  /** @throws PluginError */
  call<Answer>({ service, method, request }: PluginCall, deadlineMs: number, signal: AbortSignal): Promise<Answer> {
    const { path, requestSerialize, responseDeserialize } = pluginMethod(service, method);
    return new Promise((resolve, reject) => {
      const settled = (error: ServiceError | null, answer?: object): void => {
        signal.removeEventListener('abort', cancel);
        if (error) reject(pluginError(method, error));
        else resolve(answer as Answer); // the schema says so
      };
      const call = this.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        new GrpcMetadata(),
        { deadline: deadlineMs },
        settled,
      );
      const cancel = (): void => call.cancel();
      signal.addEventListener('abort', cancel, { once: true });
      if (signal.aborted) cancel();
    });
  }

  /** Returns the answers as they come. Leaving the loop cancels the call. @throws PluginError */
  async *stream<Answer>({ service, method, request }: PluginCall, signal: AbortSignal): AsyncGenerator<Answer> {
    const { path, requestSerialize, responseDeserialize } = pluginMethod(service, method);
    const call: ClientReadableStream<object> = this.client.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
    );
    yield* answersOf<Answer>(method, call, signal);
  }

  /**
   * Passes on the answers as they come, undecoded: most answers of a long stream of statistics are never looked at.
   * Resolves when the plugin ends the stream. @throws PluginError
   */
  listen(
    { service, method, request }: PluginCall,
    take: (answer: Uint8Array) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { path, requestSerialize } = pluginMethod(service, method);
    const call = this.client.makeServerStreamRequest(path, requestSerialize, (bytes: Buffer) => bytes, request);
    return new Promise((resolve, reject) => {
      const cancel = (): void => call.cancel();
      signal.addEventListener('abort', cancel, { once: true });
      if (signal.aborted) cancel();
      const settled = (settle: () => void): void => {
        signal.removeEventListener('abort', cancel);
        settle();
      };
      call.on('data', take);
      call.once('end', () => settled(resolve));
      call.on('error', (error: ServiceError) => settled(() => reject(pluginError(method, error))));
    });
  }

  /** Begins a call with messages in both directions. Aborting the signal cancels it. */
  open<Request, Answer>(service: PluginService, method: string, signal: AbortSignal): PluginDialogue<Request, Answer> {
    const { path, requestSerialize, responseDeserialize } = pluginMethod(service, method);
    const call = this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    return {
      send: (request) => sent(call, request as object),
      finish: () => call.end(),
      answers: answersOf<Answer>(method, call, signal),
    };
  }

  close(): void {
    this.client.close();
  }
}

/** PluginDialogue is a call with messages in both directions. */
export interface PluginDialogue<Request, Answer> {
  /** Resolves when there is room for more. What a call that has ended would get is dropped. */
  send(request: Request): Promise<void>;
  /** Says that nothing more will be sent. */
  finish(): void;
  /** Returns the answers as they come. Unread answers block the plugin. */
  readonly answers: AsyncGenerator<Answer>;
}

async function* answersOf<Answer>(
  method: string,
  call: ClientReadableStream<object> | ClientDuplexStream<object, object>,
  signal: AbortSignal,
): AsyncGenerator<Answer> {
  const cancel = (): void => call.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  try {
    for await (const answer of call) yield answer as Answer; // the schema says so
  } catch (error) {
    throw pluginError(method, error as ServiceError);
  } finally {
    signal.removeEventListener('abort', cancel);
    call.on('error', () => {}); // of the cancelled call
    call.cancel();
  }
}

function sent(call: ClientDuplexStream<object, object>, request: object): Promise<void> {
  if (call.destroyed || call.writableEnded) return Promise.resolve();
  return new Promise((resolve) => void call.write(request, () => resolve()));
}

function pluginError(method: string, { code, details, message, metadata }: ServiceError): PluginError {
  return new PluginError(method, code ?? status.UNKNOWN, details || message, isRecoverable(metadata));
}

interface StatusMessage {
  readonly details: readonly { readonly type_url: string; readonly value: Buffer }[];
}

/** Whether the details of a failed call say that another try may succeed (PG-55). */
function isRecoverable(metadata: Metadata | undefined): boolean {
  const [bytes] = metadata?.get('grpc-status-details-bin') ?? [];
  if (!Buffer.isBuffer(bytes)) return false;
  try {
    const { details } = pluginMessage('status').deserialize(bytes) as StatusMessage;
    const detail = details.find(({ type_url: type }) => type.endsWith(`/${RECOVERABLE_TYPE}`));
    if (!detail) return false;
    return (pluginMessage('recoverable').deserialize(detail.value) as { recoverable: boolean }).recoverable;
  } catch {
    return false;
  }
}
