import { Acl, type Requirement, satisfies } from '@waybill/acl';
import type { FastifyInstance } from 'fastify';
import { forbidden, serverFailure } from '../http/api-error.js';
import { namespaceOf, param } from '../http/query-string.js';
import type { RequestNotes } from '../http/request-notes.js';
import type { RoutedRequest } from '../http/routed-request.js';
import { anonymous, type Caller } from './caller.js';
import { type CallerSource, RefusedCredential } from './callers.js';
import type { GuardedRoutes } from './guarded-routes.js';
import { type Need, needOf, type RouteNeeds } from './needs.js';
import { type ExistingNamespaces, RequestAccess } from './request-access.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route needs of its caller. */
    needs?: RouteNeeds;
  }
  interface FastifyRequest {
    /** What the request may see and do. It is set before the body is read. */
    access: RequestAccess;
  }
}

/** The caller of a route that does not check its caller. They may only do what the route does for everybody. */
const NOT_CHECKED = anonymous(Acl.none);

export interface RouteGuard {
  /** The source that finds out who sends a request. */
  readonly callers: CallerSource;
  readonly namespaces: ExistingNamespaces;
}

/**
 * Checks every request against the need of its route before the body is read, and gives the handler the `RequestAccess`
 * for what only the handler knows. A route that declares no need keeps the API from starting. If a handler has not
 * checked what its route leaves to it, a failure replaces its answer.
 */
export function guardRoutes(fastify: FastifyInstance, guard: RouteGuard, routes: GuardedRoutes): void {
  fastify.decorateRequest('access', null as unknown as RequestAccess);
  fastify.addHook('onRoute', ({ method, url, config }) => routes.add(method, url, config?.needs));
  fastify.addHook('onRequest', async (request) => {
    const needs = request.routeOptions.config.needs;
    if (needs === undefined) return; // no route: answered 404 or 405
    request.access = await accessOf(request as CheckedRequest, needs, guard);
    checkLabels(request as CheckedRequest, needs, request.access.caller);
  });
  fastify.addHook('onSend', async (request, reply) => {
    if (reply.statusCode < 300 && request.access) checkAsked(request.access);
  });
}

/** CheckedRequest has the members of a request from which its access follows. */
export type CheckedRequest = RoutedRequest & {
  readonly headers: CredentialHeaders;
  readonly notes?: Pick<RequestNotes, 'refused'> | undefined;
};

/**
 * Returns the rights of a request. `checkLabels` then checks them against the names in its path and query.
 * @throws Refusal forbidden if its credential is refused; the errors of the read model
 */
export async function accessOf(
  request: CheckedRequest,
  needs: RouteNeeds,
  { callers, namespaces }: RouteGuard,
): Promise<RequestAccess> {
  const need = needOf(needs, request);
  const caller = await callerOf(request, need, callers);
  return new RequestAccess(caller, need, namespaceOf(request.query), namespaces);
}

/** @throws Refusal internal if the handler has not made the check that its route leaves to it */
export function checkAsked(access: RequestAccess): void {
  if (!access.asked) throw serverFailure('the server has not checked what this caller may see; please report this');
}

/** CredentialHeaders are the headers that may contain a credential. */
type CredentialHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Returns the secret of a request, from `X-Nomad-Token` or `Authorization: Bearer`. */
export function credentialOf({ headers }: { readonly headers: CredentialHeaders }): string | undefined {
  const token = headers['x-nomad-token'];
  if (typeof token === 'string' && token !== '') return token.trim();
  const [scheme, value] = String(headers['authorization'] ?? '').split(' ', 2);
  return scheme?.toLowerCase() === 'bearer' ? value?.trim() : undefined;
}

async function callerOf(request: CheckedRequest, need: Need, callers: CallerSource): Promise<Caller> {
  if (need.ignoresToken) return NOT_CHECKED;
  try {
    return await callers.of(credentialOf(request));
  } catch (error) {
    if (!(error instanceof RefusedCredential)) throw error;
    request.notes?.refused(credentialOf(request) ?? '');
    if (need.onNode && error.because === 'unknown') throw forbidden('ACL token not found');
    throw need.tellsExpiry && error.because === 'expired' ? forbidden('ACL token expired') : error;
  }
}

/**
 * Says whether the query names the namespace. It takes precedence over a namespace in the body, so it can be checked at
 * once (API-44, OP-171).
 */
const namesNamespace = ({ query }: CheckedRequest, { kind }: Requirement): boolean =>
  kind === 'namespace' && Boolean(param(query, 'namespace'));

/**
 * Checks the caller against the need of the route, if the path or the query names its object. @throws Refusal forbidden
 */
export function checkLabels(request: CheckedRequest, needs: RouteNeeds, { acl }: Caller): void {
  const { requirement, at } = needOf(needs, request);
  if (at === 'object' || at === 'list') return;
  if (at === 'body' && !namesNamespace(request, requirement)) return;
  const pool = request.params['name'];
  if (!satisfies(acl, requirement, at === 'path' ? { pool } : { namespace: namespaceOf(request.query) }))
    throw forbidden('Permission denied');
}
