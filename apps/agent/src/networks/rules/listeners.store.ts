import { readFile } from 'node:fs/promises';

/** Returns the TCP ports on which programs of the machine listen, on any address. */
export type ReadListeners = () => Promise<ReadonlySet<number>>;

/** The kernel's tables of TCP sockets in this network namespace. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** The state of a listening socket. */
const LISTEN = '0A';

/** Returns the ports of the listening sockets of a table. Pure. Cost: O(sockets). @param table see TABLES */
export function listeningPorts(table: string): number[] {
  return table
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local, , state] = line.trim().split(/\s+/);
      return state === LISTEN && local ? [Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16)] : [];
    });
}

export const readListeners: ReadListeners = async () => {
  // A kernel without IPv6 has no second table.
  const tables = await Promise.all(TABLES.map((file) => readFile(file, 'utf8').catch(() => '')));
  return new Set(tables.flatMap((table) => listeningPorts(table)));
};
