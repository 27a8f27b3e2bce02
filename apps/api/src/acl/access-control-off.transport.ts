import type { FastifyInstance } from 'fastify';
import { HTTP_STATUS_OF } from '@waybill/model';
import { pathOf } from '../http/path.js';

const ACL_PATH = /^\/v1\/acl(\/|$)/;
/** Who everybody is then is answered (OP-111). */
const SELF_PATH = '/v1/acl/token/self';

/** API-40: while access control is off, none of its paths does anything, whatever the method. */
export function refuseWhileOff(fastify: FastifyInstance, isOn: boolean): void {
  if (isOn) return;
  fastify.addHook('onRequest', (request, reply, done) => {
    const path = pathOf(request.url);
    if (!ACL_PATH.test(path) || (path === SELF_PATH && request.method === 'GET')) {
      done();
      return;
    }
    reply.code(HTTP_STATUS_OF.invalid).header('Content-Type', 'text/plain; charset=utf-8');
    reply.send('ACL support disabled');
  });
}
