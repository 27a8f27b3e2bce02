import type { Metrics } from '@waybill/telemetry';
import type { FastifyInstance } from 'fastify';
import { parseJobPath } from '../jobs/job-path.js';
import { pathOf } from './path.js';

const MS_PER_S = 1_000;

/** The requests whose times dashboards show, by method and route. PUT stands for POST too (OP-104). */
const TIMED: Readonly<Record<string, string>> = {
  'PUT /v1/acl/login': 'acl.login',
  'PUT /v1/acl/oidc/auth-url': 'acl.oidc_auth_url',
  'PUT /v1/acl/oidc/complete-auth': 'acl.oidc_complete_auth',
  'GET /v1/jobs': 'job.list',
  'PUT /v1/jobs': 'job.register',
  'PUT /v1/validate/job': 'job.validate',
  'GET /v1/allocations': 'alloc.list',
  'GET /v1/allocation/:id': 'alloc.get_alloc',
  'PUT /v1/allocation/:id/stop': 'alloc.stop',
  'GET /v1/deployments': 'deployment.list',
  'GET /v1/deployment/:id': 'deployment.get_deployment',
  'GET /v1/deployment/allocations/:id': 'deployment.allocations',
  'PUT /v1/deployment/unblock/:id': 'deployment.unblock',
  'PUT /v1/deployment/promote/:id': 'deployment.promote',
  'PUT /v1/deployment/pause/:id': 'deployment.pause',
  'PUT /v1/deployment/fail/:id': 'deployment.fail',
  'PUT /v1/deployment/allocation-health/:id': 'deployment.set_alloc_health',
  'GET /v1/acl/auth-methods': 'acl.list_auth_methods',
  'GET /v1/acl/auth-method/*': 'acl.get_auth_method_name',
  'PUT /v1/acl/auth-method': 'acl.upsert_auth_methods',
  'PUT /v1/acl/auth-method/*': 'acl.upsert_auth_methods',
  'DELETE /v1/acl/auth-method/*': 'acl.delete_auth_methods_by_name',
  'GET /v1/acl/binding-rules': 'acl.list_binding_rules',
  'GET /v1/acl/binding-rule/*': 'acl.get_binding_rule',
  'PUT /v1/acl/binding-rule': 'acl.upsert_binding_rules',
  'PUT /v1/acl/binding-rule/*': 'acl.upsert_binding_rules',
  'DELETE /v1/acl/binding-rule/*': 'acl.delete_binding_rules',
};

/** The requests of the route that all requests about one job share, by method and sub-route. */
const TIMED_OF_JOB: Readonly<Record<string, string>> = {
  'GET ': 'job.get_job',
  'GET summary': 'job.summary',
  'GET versions': 'job.get_job_versions',
  'GET allocations': 'job.allocations',
  'GET evaluations': 'job.evaluations',
  'GET deployments': 'job.deployments',
  'GET deployment': 'job.latest_deployment',
  'GET scale': 'job.scale_status',
  'PUT ': 'job.register',
  'PUT plan': 'job.plan',
  'PUT evaluate': 'job.evaluate',
  'PUT dispatch': 'job.dispatch',
  'PUT scale': 'job.scale',
  'PUT revert': 'job.revert',
  'PUT stable': 'job.stable',
  'PUT periodic/force': 'job.periodic_force',
  'DELETE ': 'job.deregister',
};

/**
 * Measures how long requests take, as `nomad.job.register` and similar names. The time of a blocking query includes its
 * wait.
 */
export function timeRequests(fastify: FastifyInstance, metrics: Metrics): void {
  fastify.addHook('onResponse', (request, reply, done) => {
    const name = timerOf(request.method, request.routeOptions.url ?? '', request.url);
    if (name !== undefined) {
      const timer = metrics.histogram(`nomad_${name.replaceAll('.', '_')}`, `nomad.${name}`);
      timer.observe(reply.elapsedTime / MS_PER_S);
    }
    done();
  });
}

/** Returns the name of a request's timer, or undefined if it has none. */
export function timerOf(method: string, route: string, url: string): string | undefined {
  const verb = method === 'POST' ? 'PUT' : method;
  if (route !== '/v1/job/*') return TIMED[`${verb} ${route}`];
  const { sub } = parseJobPath(pathOf(url).slice('/v1/job/'.length));
  return TIMED_OF_JOB[`${verb} ${sub ?? ''}`];
}
