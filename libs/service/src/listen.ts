import type { Settings } from './settings.js';

/** What serves HTTP. */
interface Server {
  listen(port: number, host: string): Promise<unknown>;
}

/** @throws Error that names the settings, when nothing can listen there */
export async function listen(server: Server, name: 'WAYBILL_OPS' | 'WAYBILL_HTTP', settings: Settings): Promise<void> {
  const [host, port] = [settings[`${name}_HOST`], settings[`${name}_PORT`]];
  try {
    await server.listen(port, host);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`cannot listen at ${name}_HOST=${host} and ${name}_PORT=${port}: ${reason}`, { cause });
  }
}
