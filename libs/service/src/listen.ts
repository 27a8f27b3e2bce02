import { errorText } from '@waybill/model';
import type { Settings } from './settings.js';

/**
 * Connections that wait to be accepted; the system may allow fewer (net.core.somaxconn). With Node's 511, of thousands of
 * clients that come back together most would try again after seconds.
 */
export const LISTEN_BACKLOG = 4_096;

/** What serves HTTP. */
interface Server {
  listen(options: { port: number; host: string; backlog: number }): Promise<unknown>;
}

/** @throws Error that names the settings, when nothing can listen there */
export async function listen(server: Server, name: 'WAYBILL_OPS' | 'WAYBILL_HTTP', settings: Settings): Promise<void> {
  const [host, port] = [settings[`${name}_HOST`], settings[`${name}_PORT`]];
  try {
    await server.listen({ port, host, backlog: LISTEN_BACKLOG });
  } catch (cause) {
    const reason = errorText(cause);
    throw new Error(`cannot listen at ${name}_HOST=${host} and ${name}_PORT=${port}: ${reason}`, { cause });
  }
}
