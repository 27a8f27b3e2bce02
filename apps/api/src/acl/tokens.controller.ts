import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { anybody, itself, management } from '../access/needs.js';
import { encodeAclTokenStub } from '@waybill/model';
import { badRequest, forbidden } from '../http/api-error.js';
import { ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendEmpty, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { AccessControl } from './access-control.js';
import { ANONYMOUS, EVERYBODY, TOKEN_NOT_FOUND, TokenAnswers } from './token-answers.js';
import { readToken } from './token-request.js';
import { TokenWrites } from './token-writes.js';

/** The controller of `/v1/acl/tokens` and `/v1/acl/token` (OP-147 to OP-158). */
@Controller('v1/acl')
export class TokensController {
  constructor(
    private readonly reads: Reads,
    private readonly writes: TokenWrites,
    private readonly access: AccessControl,
    private readonly answers: TokenAnswers,
  ) {}

  @Get('tokens')
  @Needs(management)
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const filter = ListFilter.of(query);
    const options = { prefix: param(query, 'prefix'), globalOnly: param(query, 'global') === 'true', ...pageOf(query) };
    await this.reads.answer(request, reply, [['acl_token', '*']], () => {
      const keep = filter?.keep(encodeAclTokenStub);
      return this.answers.list({ ...options, keep });
    });
  }

  /** Returns the caller's token, or a pseudo token without access control or without a token (OP-155, OP-111). */
  @Get('token/self')
  @Needs(itself)
  async self(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    if (!this.access.isOn) {
      sendJson(request, reply, EVERYBODY);
      return;
    }
    const { token } = request.access.caller;
    if (!token) {
      sendJson(request, reply, ANONYMOUS);
      return;
    }
    await this.answer(request, reply, token.AccessorID);
  }

  /** Reads a token. The route is a wildcard, because the router matches `:id` only with a part that is not empty. */
  @Get('token/*')
  @Needs(anybody)
  async readToken(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const accessor = accessorOf(request);
    const { acl, token } = request.access.caller;
    if (!acl.isManagement() && token?.AccessorID !== accessor) throw forbidden('Permission denied');
    await this.answer(request, reply, accessor);
  }

  @Put('token')
  @Needs(management)
  putAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Post('token')
  @Needs(management)
  postAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Put('token/*')
  @Needs(management)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, accessorOf(request));
  }

  @Post('token/*')
  @Needs(management)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, accessorOf(request));
  }

  @Delete('token/*')
  @Needs(management)
  async delete(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const accessor = accessorOf(request);
    setWriteIndex(reply, await this.writes.delete(accessor, Requester.of(request).author));
    sendEmpty(reply);
  }

  private async upsert(request: ApiRequest, reply: ApiReply, accessor: string | undefined): Promise<void> {
    const given = readToken(request.body);
    if (accessor !== undefined && given.AccessorID !== accessor)
      throw badRequest('ACL token accessor does not match request path');
    const { token, index } = await this.writes.upsert(given, Requester.of(request).author);
    setWriteIndex(reply, index);
    sendJson(request, reply, token);
  }

  private async answer(request: ApiRequest, reply: ApiReply, accessor: string): Promise<void> {
    const query = () => this.answers.object(accessor);
    await this.reads.answerObject(request, reply, [['acl_token', accessor]], { query, missing: TOKEN_NOT_FOUND });
  }
}

function accessorOf(request: ApiRequest): string {
  const accessor = request.params['*'] ?? '';
  if (accessor === '') throw badRequest('Missing Token Accessor');
  return accessor;
}
