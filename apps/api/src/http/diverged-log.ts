import type { LogHistory } from '@waybill/journal';
import type { FastifyInstance } from 'fastify';
import { pathOf } from './path.js';

/** Says that what is read may be of a history that does not count. */
export const DIVERGED_HEADER = 'X-Waybill-Log-Diverged';

/** Reads by other names than GET; and what an operator decides with. */
const STILL_ANSWERED = /^\/v1\/(operator\/log\/|search(\/|$)|jobs\/parse$|validate\/)/;
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** While the log is not the one that was read: writes are refused with the way out, reads go on and say so (ST-1). */
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
