import { Client, connectivityState, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { CsiError } from './errors.js';
import { type CsiService, csiMethod } from './schema.js';

/** Wait before a channel reconnects. It doubles up to the limit. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** A call to one of the plugin's services. */
export interface ChannelCall {
  readonly service: CsiService;
  readonly method: string;
  readonly request: object;
}

/** The gRPC side of one connection. Only this file needs gRPC, which loads 160 modules. */
export class PluginChannel {
  private readonly client: Client;

  constructor(socketPath: string, backoff: Backoff) {
    this.client = new Client(`unix:${socketPath}`, credentials.createInsecure(), {
      'grpc.default_authority': 'localhost',
      'grpc.enable_http_proxy': 0,
      'grpc.initial_reconnect_backoff_ms': backoff.firstMs,
      'grpc.max_reconnect_backoff_ms': backoff.maxMs,
    });
  }

  get isReady(): boolean {
    return this.client.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

  /** @returns false if no process listens on the socket */
  ready(deadlineMs: number): Promise<boolean> {
    return new Promise((resolve) => this.client.waitForReady(deadlineMs, (error) => resolve(!error)));
  }

  /** @throws CsiError */
  call<Answer>({ service, method, request }: ChannelCall, deadlineMs: number, signal: AbortSignal): Promise<Answer> {
    const { path, requestSerialize, responseDeserialize } = csiMethod(service, method);
    return new Promise((resolve, reject) => {
      const settled = (error: ServiceError | null, answer?: object): void => {
        signal.removeEventListener('abort', cancel);
        if (error) reject(new CsiError(method, error.code, error.details));
        else resolve(answer as Answer); // the schema says so
      };
      const call = this.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        new Metadata(),
        { deadline: deadlineMs },
        settled,
      );
      const cancel = (): void => call.cancel();
      signal.addEventListener('abort', cancel, { once: true });
      if (signal.aborted) cancel();
    });
  }

  close(): void {
    this.client.close();
  }
}
