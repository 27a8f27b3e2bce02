import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';

const compress = promisify(gzip);
/** A connection inside a data centre is faster than the better levels. */
const LEVEL = constants.Z_BEST_SPEED;
/** Content type of what is compressed in itself. */
export const PACKED = 'application/x-gzip';

/**
 * Compresses whole answers for clients that ask for it (API-23). Streams are written to the socket and never come by
 * here. Cost: about 10 ms per megabyte, in zlib's threads.
 */
export function compressAnswers(fastify: FastifyInstance): void {
  fastify.addHook('onSend', async (request, reply, payload) => {
    reply.header('Vary', 'Accept-Encoding');
    const text = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : '';
    const isPacked = reply.getHeader('Content-Type') === PACKED;
    if (text.length === 0 || isPacked || !acceptsGzip(request.headers['accept-encoding'])) return payload;
    const compressed = await compress(text, { level: LEVEL });
    reply.header('Content-Encoding', 'gzip').header('Content-Length', compressed.length);
    return compressed;
  });
}

/** `gzip;q=0` refuses it; any other weight asks for it. */
export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  const codings = [acceptEncoding ?? []].flat().join(',').toLowerCase().split(',');
  return codings.some((coding) => {
    const [name = '', ...parameters] = coding.split(';').map((part) => part.trim());
    return name === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
