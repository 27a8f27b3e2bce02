import { errorText } from '@waybill/model';
import type { Settings } from './settings.js';

/**
 * Number of connections that wait to be accepted. The system may allow fewer (net.core.somaxconn). With Node's 511,
 * most of thousands of clients that reconnect together would retry only after seconds.
 */
export const LISTEN_BACKLOG = 4_096;

/** A server for HTTP. */
interface Server {
  listen(options: { port: number; host: string; backlog: number }): Promise<unknown>;
}

/** @throws Error that names the settings if the port cannot be bound */
export async function listen(server: Server, name: 'WAYBILL_OPS' | 'WAYBILL_HTTP', settings: Settings): Promise<void> {
  const [host, port] = [settings[`${name}_HOST`], settings[`${name}_PORT`]];
  try {
    await server.listen({ port, host, backlog: LISTEN_BACKLOG });
  } catch (cause) {
    const reason = errorText(cause);
    throw new Error(`cannot listen at ${name}_HOST=${host} and ${name}_PORT=${port}: ${reason}`, { cause });
  }
}
