import type { Logger } from '@waybill/telemetry';
import type { FastifyInstance } from 'fastify';
import { pathOf } from './path.js';

/**
 * Logs every request for those who watch the log at `debug` or lower (`/v1/agent/monitor`), in the words of the
 * reference's agent. It logs only the path, because a query may contain private data. Cost while nobody watches: two
 * calls.
 */
export function logRequests(fastify: FastifyInstance, logger: Logger): void {
  const log = logger.with({ part: 'http' });
  fastify.addHook('onRequest', (request, _reply, done) => {
    log.trace('request received', { method: request.method, path: pathOf(request.url) });
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const { method, url } = request;
    const duration = `${reply.elapsedTime.toFixed(3)}ms`;
    log.debug('request complete', { method, path: pathOf(url), status: reply.statusCode, duration });
    done();
  });
}
