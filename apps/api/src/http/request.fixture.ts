import { EVERYBODY } from '../access/caller.js';
import { inList } from '../access/needs.js';
import { RequestAccess } from '../access/request-access.js';
import type { ApiRequest } from './reply.js';

/** Access with all rights, as every request has while access control is off. */
export const fullAccess = new RequestAccess(EVERYBODY, inList('read-job'), 'default', async () => ['default']);

/** Returns a request as a handler sees it with access control off. */
export const aRequest = (members: Partial<ApiRequest> = {}): ApiRequest =>
  // The other members are Fastify's, and the tested code does not use them.
  ({ headers: {}, query: {}, access: fullAccess, ...members }) as ApiRequest;
