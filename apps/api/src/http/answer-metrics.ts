import type { Metrics } from '@waybill/telemetry';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { pathOf } from './path.js';

const MS_PER_S = 1_000;
/** These requests last as long as somebody listens. */
const GOES_ON = /^\/v1\/(event\/stream|agent\/monitor|client\/fs\/|client\/allocation\/[^/]+\/exec)/;

/**
 * Measures what a load balancer would report about the API: answers by method and status, and how long requests took.
 * The times leave out blocking queries and streams, which wait on purpose. There are few methods and statuses but many
 * paths, so the path is not a label.
 */
export function measureAnswers(fastify: FastifyInstance, metrics: Metrics): void {
  const labels = ['method', 'status'];
  const answers = metrics.counter('http_answers_total', 'requests answered, by method and status', labels);
  const seconds = metrics.histogram(
    'http_answer_seconds',
    'how long requests took that wait for nothing: no blocking queries, no streams',
    ['method'],
  );
  fastify.addHook('onResponse', (request, reply, done) => {
    const { method } = request;
    answers.inc({ method, status: reply.statusCode });
    if (!isWaiting(request)) seconds.observe({ method }, reply.elapsedTime / MS_PER_S);
    done();
  });
}

/** Says whether a request takes long because its client wants it to. */
export const isWaiting = ({ url, query }: Pick<FastifyRequest, 'url' | 'query'>): boolean =>
  GOES_ON.test(pathOf(url)) || (typeof query === 'object' && query !== null && 'index' in query);
