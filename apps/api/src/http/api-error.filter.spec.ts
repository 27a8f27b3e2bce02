import { type ArgumentsHost, NotFoundException, PayloadTooLargeException } from '@nestjs/common';
import { LogUnavailableError, TooLargeError } from '@waybill/journal';
import { DecodeError } from '@waybill/model';
import { SetAsideError } from '@waybill/projection';
import { RpcError, RpcUnavailableError } from '@waybill/rpc';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { badRequest, conflict, forbidden, notFound, serverFailure } from './api-error.js';
import { ApiErrorFilter } from './api-error.filter.js';
import { KnownPaths } from './known-paths.js';

const paths = new KnownPaths();
paths.add('/v1/jobs');

/** What a client is told of a failure, at this path. */
function toldOf(error: unknown, url = '/v1/jobs', routeOptions = {}): { status: number; type: string; text: string } {
  const told = { status: 0, type: '', text: '' };
  const reply = {
    code: (status: number) => Object.assign(told, { status }) && reply,
    header: (_name: string, type: string) => Object.assign(told, { type }) && reply,
    send: (text: string) => void Object.assign(told, { text }),
  };
  const http = { getRequest: () => ({ method: 'PUT', url, routeOptions }), getResponse: () => reply };
  new ApiErrorFilter(silentLogger, paths).catch(error, { switchToHttp: () => http } as never as ArgumentsHost);
  return told;
}

const databaseError = (code: string): Error => Object.assign(new Error('connection refused'), { code });

describe('what a failure is to a client', () => {
  it.each([
    ['of the server', serverFailure('no configuration yet'), 500, 'no configuration yet'],
    ['of a business rule', conflict('volume in use: data'), 409, 'volume in use: data'],
    ['of a request', badRequest('Invalid index'), 400, 'Invalid index'],
    ['of rights', forbidden('Permission denied'), 403, 'Permission denied'],
    ['to find something', notFound('job not found'), 404, 'job not found'],
    ['to read a body', DecodeError.wrongType(1, 'Name', 'string'), 400, /^json: cannot unmarshal number/],
    ['of another service, asked wrongly', new RpcError('invalid', 'bad drain'), 400, 'bad drain'],
    ['of another service, which has not got it', new RpcError('not-found', 'Unknown node'), 404, 'Unknown node'],
    ['of another service, which may not', new RpcError('forbidden', 'Permission denied'), 403, 'Permission denied'],
    ['of another service', new RpcError('internal', 'node not found'), 500, 'node not found'],
    ['to find a leader', new RpcUnavailableError('broker.reached', 'no responder'), 500, 'No cluster leader'],
    [
      'to fit a transaction',
      new TooLargeError('JobRegister', 9, 8),
      413,
      /^transaction JobRegister of 9 bytes exceeds/,
    ],
    ['to reach the log', new LogUnavailableError('no answer'), 503, 'the transaction log is not available: no answer'],
    ['to reach the read model', databaseError('ECONNREFUSED'), 503, /^the read model \(PostgreSQL\) cannot be reached/],
    [
      'to hear from the read model',
      new Error('Query read timeout'),
      503,
      /^the read model \(PostgreSQL\) cannot be reached/,
    ],
    [
      'to store what was asked for',
      new SetAsideError({ part: 'jobs', object: 'default/x', index: 7, txnName: 'JobRegister', reason: 'too long' }),
      500,
      /^jobs default\/x cannot be shown: .* \(transaction 7, JobRegister: too long\).*waybill operator projection retry/,
    ],
    ['that nobody expected', new Error('surprise'), 500, 'surprise'],
  ])('API-35, API-36, OP-3, OP-4: %s', (_what, error, status, text) => {
    expect(toldOf(error)).toEqual({
      status,
      type: 'text/plain; charset=utf-8',
      text: typeof text === 'string' ? text : expect.stringMatching(text),
    });
  });

  it('API-2, API-3, OP-3: a path that nobody serves says nothing, another method of one that is served does', () => {
    expect(toldOf(new NotFoundException())).toMatchObject({ status: 405, text: 'Invalid method' });
    expect(toldOf(new NotFoundException(), '/v1/nothing')).toMatchObject({ status: 404, text: '' });
  });

  it('a body beyond the limit of its path is told how much would do', () => {
    const told = (limits: object) => toldOf(new PayloadTooLargeException(), '/v1/jobs', limits);
    expect(told({})).toMatchObject({ status: 413, text: 'Request body is too large: at most 32 MiB' });
    expect(told({ bodyLimit: 256 * 2 ** 20 }).text).toBe('Request body is too large: at most 256 MiB');
  });
});
