import { TransactionWriter } from '@waybill/writing';
import { Controller, Delete, Get, Param, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { anybody, management } from '../access/needs.js';
import { DEFAULT_NAMESPACE, type Namespace } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { badRequest, forbidden } from '../http/api-error.js';
import { bothConditions, ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import { found, listed } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendEmpty, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { readNamespace } from './namespace-request.js';

/** The controller of `/v1/namespaces` and `/v1/namespace/:name` (API-255, OP-175 to OP-183). */
@Controller('v1')
export class NamespacesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly writes: TransactionWriter,
  ) {}

  @Get('namespaces')
  @Needs(anybody)
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const options = { prefix: param(request.query, 'prefix'), ...pageOf(request.query) };
    const filter = ListFilter.of(request.query);
    const { acl } = request.access.caller;
    const mayKnow = ({ Name }: Namespace): boolean => acl.hasAccessToNamespace(Name);
    await this.reads.answer(request, reply, [['namespaces', '*']], () =>
      listed(this.model.namespaces({ ...options, keep: bothConditions(filter?.keep<Namespace>(), mayKnow) })),
    );
  }

  @Put('namespace')
  @Needs(management)
  putAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Post('namespace')
  @Needs(management)
  postAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  /**
   * Returns a namespace (OP-177). The route is a wildcard, because the router matches `:name` only with a part that is
   * not empty.
   */
  @Get('namespace/*')
  @Needs(anybody)
  async readNamespace(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const name = request.params['*'] ?? '';
    if (name === '') throw badRequest('Missing Namespace Name');
    if (!request.access.caller.acl.hasAccessToNamespace(name)) throw forbidden('Permission denied');
    const query = () => found(this.model.namespace(name));
    await this.reads.answerObject(request, reply, [['namespaces', name]], { query, missing: 'Namespace not found' });
  }

  @Put('namespace/:name')
  @Needs(management)
  put(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, name);
  }

  @Post('namespace/:name')
  @Needs(management)
  post(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, name);
  }

  @Delete('namespace/:name')
  @Needs(management)
  async delete(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    if (name === DEFAULT_NAMESPACE) throw badRequest('can not delete default namespace');
    const { index } = await this.writes.write(
      { type: 'NamespaceDelete', payload: { Names: [name] } },
      Requester.of(request).author,
    );
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }

  private async upsert(request: ApiRequest, reply: ApiReply, name: string | undefined): Promise<void> {
    const namespace = readNamespace(request.body, name);
    const { index } = await this.writes.write(
      { type: 'NamespaceUpsert', payload: { Namespaces: [namespace] } },
      Requester.of(request).author,
    );
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }
}
