import { All, Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { anybody, open, operatorCapability } from '../access/needs.js';
import { ApiError, badRequest, notFound } from '../http/api-error.js';
import { pathOf } from '../http/path.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';

const WRITES = new Set(['PUT', 'POST', 'DELETE']);

/** Variables and the keys that would encrypt them: there are none yet. Reads say so, writes are refused (API-258). */
@Controller()
export class VariablesController {
  constructor(private readonly reads: Reads) {}

  @Get('v1/vars')
  @Needs(anybody)
  list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.reads.answer(request, reply, [], () => Promise.resolve({ index: 1, value: [] }));
  }

  @All('v1/var/*')
  @Needs(anybody)
  one(@Req() { method, url }: ApiRequest): never {
    if (pathOf(url) === '/v1/var/') throw badRequest('missing variable path');
    if (method === 'GET') throw notFound('variable not found');
    if (WRITES.has(method)) throw notHere();
    throw badRequest('Invalid method');
  }

  @Get('v1/operator/keyring/keys')
  @Needs(operatorCapability('keyring-read'))
  keys(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.reads.answer(request, reply, [], () => Promise.resolve({ index: 1, value: [] }));
  }

  @Put('v1/operator/keyring/rotate')
  @Needs(operatorCapability('keyring-rotate'))
  rotatePut(): never {
    throw notHere();
  }

  @Post('v1/operator/keyring/rotate')
  @Needs(operatorCapability('keyring-rotate'))
  rotatePost(): never {
    throw notHere();
  }

  @Delete('v1/operator/keyring/key/:id')
  @Needs(operatorCapability('keyring-delete'))
  removeKey(): never {
    throw notHere();
  }

  /** No keys to publish; whoever looks for identities' issuer is told that there is none. */
  @Get('.well-known/jwks.json')
  @Needs(open)
  publicKeys(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, { keys: [] });
  }

  @Get('.well-known/openid-configuration')
  @Needs(open)
  issuer(): never {
    throw notFound('OIDC Discovery endpoint disabled');
  }
}

const notHere = (): ApiError => new ApiError(501, 'variables are not available yet; see docs/gaps.md');
