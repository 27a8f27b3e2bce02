import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { ConflictError, LogOverloadedError, LogUnavailableError, TooLargeError } from '@waybill/journal';
import { DecodeError, HTTP_STATUS_OF, Refusal, errorText } from '@waybill/model';
import { DAMAGE_ADVICE, isDamage, SetAsideError } from '@waybill/projection';
import { RpcUnavailableError } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import type { KnownPaths } from './known-paths.js';
import type { ApiReply, ApiRequest } from './reply.js';
import { ApiError } from './api-error.js';
import { bodyTooLarge } from './body.js';

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** ApiErrorFilter is the only place where a failure becomes a status and a text (API-35, API-36). */
@Catch()
export class ApiErrorFilter implements ExceptionFilter {
  constructor(
    private readonly logger: Logger,
    private readonly paths: KnownPaths,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<ApiRequest>();
    const reply = host.switchToHttp().getResponse<ApiReply>();
    const { status, text } = this.answerOf(error, request);
    reply.code(status).header('Content-Type', 'text/plain; charset=utf-8').send(text);
  }

  private answerOf(error: unknown, request: ApiRequest): Answer {
    if (error instanceof Refusal) return { status: HTTP_STATUS_OF[error.code], text: error.message };
    if (error instanceof ApiError) return { status: error.status, text: error.message };
    if (error instanceof DecodeError) return { status: 400, text: error.message };
    if (error instanceof TooLargeError) return { status: 413, text: error.message };
    if (error instanceof LogUnavailableError || error instanceof LogOverloadedError)
      return { status: 503, text: error.message };
    if (error instanceof ConflictError) return { status: 409, text: 'too many writes to the same object; try again' };
    if (error instanceof RpcUnavailableError) return { status: 500, text: 'No cluster leader' };
    if (error instanceof SetAsideError) return { status: 500, text: error.message };
    if (isDamage(error)) return { status: 500, text: `${DAMAGE_ADVICE} (${errorText(error)})` };
    if (isDatabaseDown(error))
      return {
        status: 503,
        text: 'the read model (PostgreSQL) cannot be reached; scheduling goes on, ask again later',
      };
    if (error instanceof HttpException) return this.notRouted(error, request);
    this.logger.error('a request failed', { error, method: request.method, url: request.url });
    return { status: 500, text: errorText(error) };
  }

  /** Answers an unknown path with an empty 404, and a known path with another method with 405 (API-2, API-3). */
  private notRouted(error: HttpException, request: ApiRequest): Answer {
    if (error.getStatus() === 413) return { status: 413, text: bodyTooLarge(request.routeOptions.bodyLimit).message };
    if (error.getStatus() !== 404) return { status: error.getStatus(), text: error.message };
    return this.paths.has(request.url) ? { status: 405, text: 'Invalid method' } : { status: 404, text: '' };
  }
}

/** The codes of Postgres that say it is down (classes 57, 08, 53), and of a connection to it that fails. */
const DOWN_CODES = /^(57P0[123]|08...|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND)$/;
const DOWN_TEXTS = ['timeout exceeded when trying to connect', 'Connection terminated', 'Query read timeout'];

function isDatabaseDown(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && typeof error.code === 'string' && DOWN_CODES.test(error.code)) return true;
  return DOWN_TEXTS.some((text) => error.message.includes(text));
}
