import { EVERYBODY } from '../access/caller.js';
import { inList } from '../access/needs.js';
import { RequestAccess } from '../access/request-access.js';
import type { ApiRequest } from './reply.js';

/** May do everything, as every request while access control is off. */
export const fullAccess = new RequestAccess(EVERYBODY, inList('read-job'), 'default', async () => ['default']);

/** What a handler sees of a request, with access control off. */
export const aRequest = (members: Partial<ApiRequest> = {}): ApiRequest =>
  // The rest is Fastify's, and nothing that is tested with this looks at it.
  ({ headers: {}, query: {}, access: fullAccess, ...members }) as ApiRequest;
