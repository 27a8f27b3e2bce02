import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { wire } from '@waybill/model';
import { readJsonBody } from '../http/body.js';
import { namespacesOf } from '../http/list-params.js';
import { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { contextsOf } from './search-contexts.js';
import { PrefixSearch } from './prefix-search.js';

const SEARCH: wire.Shape<{ Prefix: string; Context: string }> = {
  name: 'SearchRequest',
  fields: { Prefix: wire.string(), Context: wire.string() },
};

/** `/v1/search` (API-250). */
@Controller('v1/search')
export class SearchController {
  constructor(
    private readonly reads: Reads,
    private readonly search: PrefixSearch,
  ) {}

  @Put()
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.byPrefix(request, reply);
  }

  @Post()
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.byPrefix(request, reply);
  }

  private async byPrefix(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { Prefix, Context } = wire.decodeShape(SEARCH, readJsonBody(request.body));
    const contexts = contextsOf(Context);
    const namespaces = namespacesOf(request.query);
    await this.reads.answer(request, reply, [], async () => {
      const { index, matches, truncations } = await this.search.run(Prefix, contexts, namespaces);
      const meta = { Index: index, LastContact: 0, KnownLeader: true, NextToken: '' };
      return { index, value: { Matches: matches, Truncations: truncations, ...meta } };
    });
  }
}
