import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { MAX_ARCHIVE_BYTES } from '@waybill/model/snapshot-archive';
import { guardWebAccess, listen, NestLogger, webAccessOf } from '@waybill/service';
import type { FastifyInstance } from 'fastify';
import { refuseWhileOff } from '../acl/access-control-off.transport.js';
import { auditRequests, completeAudits } from '../audit/audit-requests.transport.js';
import { Server as TlsServer } from 'node:https';
import { NS_PER_MS } from '@waybill/model';
import type { ApiCore } from '../api-core.js';
import { LOGIN_PATHS, MAX_LOGIN_BODY_BYTES } from '../logins/login-request.js';
import { ApiModule } from '../api.module.js';
import { guardRoutes } from '../access/routes.guard.js';
import { serveExec } from '../client/exec/exec.transport.js';
import { forwardToRegions } from '../regions/forwarding.transport.js';
import { measureAnswers } from './answer-metrics.js';
import { MAX_BODY_BYTES } from './body.js';
import {
  HEADERS_TIMEOUT_MS,
  refuseMalformed,
  refuseUnroutable,
  REQUEST_TIMEOUT_MS,
  SLOW_CHECK_MS,
} from './client-errors.js';
import { limitConnections } from './connection-limit.js';
import { compressAnswers } from './content-coding.js';
import { refuseWritesWhileDiverged } from './diverged-log.js';
import { KnownPaths } from './known-paths.js';
import { logRequests } from './log-requests.js';
import { limitRequests, RequestLimit } from './request-limit.js';
import { addConfiguredHeaders, addPageHeaders } from './response-headers.js';
import { timeRequests } from './request-timers.js';
import { followIdentity, tellPlainHttp, tlsServerOptions } from './tls-port.js';
import { traceRequests } from './trace-requests.js';
import { isPagePath } from '../ui/page-answer.js';

/**
 * The time in milliseconds for which idle connections are kept. It is longer than the longest wait of a blocking query.
 */
const KEEP_ALIVE_MS = 330_000;
/** These paths accept a whole archive as their body. No other path accepts more than MAX_BODY_BYTES. */
const ARCHIVE_PATHS: readonly string[] = [
  '/v1/operator/snapshot',
  '/v1/operator/log/restore',
  '/v1/operator/projection/rebuild',
];
/** The largest length of a part of a path: a percent-encoded job ID. */
const MAX_PARAM_LENGTH = 4_096;

/**
 * Starts the HTTP server of `/v1`. It reads bodies whatever their content type is, because clients send JSON under any
 * type (API-26).
 */
export async function startApiServer(core: ApiCore): Promise<NestFastifyApplication> {
  const { parts } = core;
  const { settings, logger, regions, metrics, clock } = parts.context;
  const timeouts = { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: SLOW_CHECK_MS };
  const tls = {
    verifyClient: settings.WAYBILL_TLS_VERIFY_HTTPS_CLIENT,
    handshakeTimeoutMs: settings.WAYBILL_TLS_HANDSHAKE_TIMEOUT / NS_PER_MS,
  };
  const adapter = new FastifyAdapter({
    bodyLimit: MAX_BODY_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    ...(settings.WAYBILL_TLS_HTTP
      ? { https: { ...timeouts, ...tlsServerOptions(parts.identity.current, tls) } }
      : { http: timeouts }),
    clientErrorHandler: refuseMalformed,
    frameworkErrors: refuseUnroutable,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
  });
  const fastify = adapter.getInstance<FastifyInstance>();
  if (fastify.server instanceof TlsServer) {
    followIdentity(fastify.server, parts.identity);
    const endSilent = tellPlainHttp(fastify.server, tls);
    fastify.addHook('preClose', async () => endSilent());
  }
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  fastify.addHook('onRoute', (route) => {
    if (ARCHIVE_PATHS.includes(route.url)) route.bodyLimit = MAX_ARCHIVE_BYTES;
    if (LOGIN_PATHS.includes(route.url)) route.bodyLimit = MAX_LOGIN_BODY_BYTES;
  });
  limitConnections(fastify.server, settings.WAYBILL_HTTP_MAX_CONNS_PER_CLIENT, metrics, clock);
  addConfiguredHeaders(fastify, settings.WAYBILL_HTTP_RESPONSE_HEADERS);
  const recorder = parts.audit.parts?.recorder;
  if (recorder) auditRequests(fastify, recorder);
  const access = { ...webAccessOf(settings), opensByLink: isPagePath };
  guardWebAccess(fastify, access);
  addPageHeaders(fastify);
  const limit = new RequestLimit(settings.WAYBILL_HTTP_MAX_REQUESTS_PER_SECOND, clock);
  limitRequests(fastify, limit, metrics);
  compressAnswers(fastify);
  timeRequests(fastify, metrics);
  measureAnswers(fastify, metrics);
  traceRequests(fastify, () => parts.context.tracer);
  logRequests(fastify, logger);
  serveExec(fastify, {
    guard: core.guard,
    watches: core.watches,
    model: parts.model,
    rpc: parts.context.rpc,
    region: regions.own,
    access,
    limit,
    warn: (text, fields) => logger.warn(text, fields),
    recorder,
  });
  forwardToRegions(fastify, core.forwarding);
  guardRoutes(fastify, core.guard, core.routes);
  refuseWritesWhileDiverged(fastify, parts.context.history);
  refuseWhileOff(fastify, parts.access.isOn);
  if (recorder) completeAudits(fastify);
  const paths = KnownPaths.of(fastify);
  const app = await NestFactory.create<NestFastifyApplication>(ApiModule.of(core, paths), adapter, {
    logger: new NestLogger(logger),
    abortOnError: false,
    bodyParser: false,
  });
  await listen(app, 'WAYBILL_HTTP', settings);
  return app;
}
