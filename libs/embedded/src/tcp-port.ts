import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { PortForbiddenError, PortTakenError } from './failures.js';

const HOST = '127.0.0.1';

/**
 * The range of `freePort`. It is below the ports that Linux gives outgoing connections (from 32,768) and those that
 * Nomad gives tasks (from 20,000), so that nothing takes the port by chance before it is used.
 */
const FIRST_PORT = 10_000;
const PORTS = 10_000;
const MAX_TRIES = 20;

/**
 * Returns a port that is free now. Another process may take it before it is used, so callers try again with the next
 * one.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const port = await listenOnce(FIRST_PORT + randomInt(PORTS)).catch(() => undefined);
    if (port !== undefined) return port;
  }
  return await listenOnce(0);
}

/** Throws PortTakenError or PortForbiddenError if nothing can listen on the port. `purpose` goes into the message. */
export async function assertPortFree(port: number, purpose: string, host: string = HOST): Promise<void> {
  try {
    await listenOnce(port, host);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE') throw new PortTakenError(port, purpose);
    if (code === 'EACCES') throw new PortForbiddenError(port, purpose);
    throw error;
  }
}

async function listenOnce(port: number, host: string = HOST): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, host, () => {
      const address = server.address();
      server.close(() => {
        if (address === null || typeof address === 'string') reject(new Error('no address of a listening server'));
        else resolve(address.port);
      });
    });
  });
}
