import type { LogHistory } from '@waybill/journal';
import type { FastifyInstance } from 'fastify';
import { pathOf } from './path.js';

/** This header says that an answer may belong to a history that does not count. */
export const DIVERGED_HEADER = 'X-Waybill-Log-Diverged';

/** Reads with another method than GET, and the requests with which an operator decides. */
const STILL_ANSWERED = /^\/v1\/(operator\/log\/|search(\/|$)|jobs\/parse$|validate\/)/;
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses writes while the log is not the one that was read, with a text that says what to do. Reads are answered with
 * DIVERGED_HEADER. [ST-1]
 */
export function refuseWritesWhileDiverged(fastify: FastifyInstance, history: Pick<LogHistory, 'divergence'>): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const { divergence } = history;
    if (!divergence) {
      done();
      return;
    }
    reply.raw.setHeader(DIVERGED_HEADER, 'true');
    if (READS.has(request.method) || STILL_ANSWERED.test(pathOf(request.url))) {
      done();
      return;
    }
    reply.code(503).header('Content-Type', 'text/plain; charset=utf-8').send(divergence.message);
  });
}
