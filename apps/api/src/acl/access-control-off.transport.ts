import type { FastifyInstance } from 'fastify';
import { HTTP_STATUS_OF } from '@waybill/model';
import { pathOf } from '../http/path.js';

const ACL_PATH = /^\/v1\/acl(\/|$)/;
/** This path is answered all the same: it tells every caller who they are (OP-111). */
const SELF_PATH = '/v1/acl/token/self';
/** Tokens for new machines work without access control too, because the services check them (AU-1). */
const INTRODUCTION_PATH = '/v1/acl/identity/client-introduction-token';

/** Refuses the paths of access control while it is off, whatever the method (API-40). */
export function refuseWhileOff(fastify: FastifyInstance, isOn: boolean): void {
  if (isOn) return;
  fastify.addHook('onRequest', (request, reply, done) => {
    const path = pathOf(request.url);
    const isAnswered = path === INTRODUCTION_PATH || (path === SELF_PATH && request.method === 'GET');
    if (!ACL_PATH.test(path) || isAnswered) {
      done();
      return;
    }
    reply.code(HTTP_STATUS_OF.invalid).header('Content-Type', 'text/plain; charset=utf-8');
    reply.send('ACL support disabled');
  });
}
