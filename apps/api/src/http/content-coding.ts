import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';

const compress = promisify(gzip);

/** The compression level. A connection inside a data centre is faster than the better levels. */
const LEVEL = constants.Z_BEST_SPEED;
/** The content type of answers that are compressed files. */
export const PACKED = 'application/x-gzip';

/**
 * Packed keeps answers in their compressed form. An answer that is sent again (`ResponseCache`) is compressed once,
 * however many clients ask for it: nine megabytes cost 90 ms. Memory: the compressed form, as long as the answer itself
 * is referenced.
 */
export class Packed {
  private readonly forms = new WeakMap<Buffer, Promise<Buffer>>();

  of(answer: Buffer): Promise<Buffer> {
    const known = this.forms.get(answer);
    if (known) return known;
    const made = compress(answer, { level: LEVEL });
    this.forms.set(answer, made);
    return made;
  }
}

/**
 * Compresses whole answers for clients that accept it (API-23). Streams are written to the socket and do not pass here.
 * Cost: about 10 ms per megabyte, in zlib's threads.
 */
export function compressAnswers(fastify: FastifyInstance): void {
  const packed = new Packed();
  fastify.addHook('onSend', async (request, reply, payload) => {
    const also = reply.raw.getHeader('Vary');
    reply.header('Vary', also === undefined ? 'Accept-Encoding' : `Accept-Encoding, ${String(also)}`);
    const answer = typeof payload === 'string' ? Buffer.from(payload) : payload;
    if (!Buffer.isBuffer(answer) || answer.length === 0 || reply.getHeader('Content-Type') === PACKED) return payload;
    if (reply.getHeader('Content-Encoding') !== undefined) return payload; // it was compressed when it was made
    if (!acceptsGzip(request.headers['accept-encoding'])) return payload;
    const compressed = await packed.of(answer);
    reply.header('Content-Encoding', 'gzip').header('Content-Length', compressed.length);
    return compressed;
  });
}

export const acceptsGzip = (acceptEncoding: string | string[] | undefined): boolean =>
  acceptsCoding(acceptEncoding, 'gzip');

/** `gzip;q=0` refuses the coding; any other weight accepts it. */
export function acceptsCoding(acceptEncoding: string | string[] | undefined, coding: string): boolean {
  const codings = [acceptEncoding ?? []].flat().join(',').toLowerCase().split(',');
  return codings.some((one) => {
    const [name = '', ...parameters] = one.split(';').map((part) => part.trim());
    return name === coding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
