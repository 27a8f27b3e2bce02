import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { MAX_SEARCH_BYTES, nameLengthErrors, wire } from '@waybill/model';
import type { Namespaces } from '@waybill/projection';
import { badRequest } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';
import { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { namespacesOfWrite } from '../http/write-options.js';
import { type FuzzyResult, FuzzySearch } from './fuzzy-search.js';
import { PrefixSearch, type SearchResult } from './prefix-search.js';
import { contextsOf } from './search-contexts.js';

const SEARCH: wire.Shape<{ Prefix: string; Context: string }> = {
  name: 'SearchRequest',
  fields: { Prefix: wire.string(), Context: wire.string() },
};

const FUZZY_SEARCH: wire.Shape<{ Text: string; Context: string }> = {
  name: 'FuzzySearchRequest',
  fields: { Text: wire.string(), Context: wire.string() },
};

/** @throws Refusal invalid */
function refuseLong(text: string): void {
  const [tooLong] = nameLengthErrors('text of a search', text, MAX_SEARCH_BYTES);
  if (tooLong !== undefined) throw badRequest(tooLong);
}

/** `/v1/search` (API-250), `/v1/search/fuzzy` (API-252). */
@Controller('v1/search')
export class SearchController {
  constructor(
    private readonly reads: Reads,
    private readonly search: PrefixSearch,
    private readonly fuzzySearch: FuzzySearch,
  ) {}

  @Put()
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.byPrefix(request, reply);
  }

  @Post()
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.byPrefix(request, reply);
  }

  @Put('fuzzy')
  fuzzyPut(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.fuzzy(request, reply);
  }

  @Post('fuzzy')
  fuzzyPost(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.fuzzy(request, reply);
  }

  private fuzzy(request: ApiRequest, reply: ApiReply): Promise<void> {
    const body = readJsonBody(request.body);
    const { Text, Context } = wire.decodeShape(FUZZY_SEARCH, body);
    refuseLong(Text);
    const contexts = contextsOf(Context);
    return this.answer(request, reply, body, (namespaces) => this.fuzzySearch.run(Text, contexts, namespaces));
  }

  private byPrefix(request: ApiRequest, reply: ApiReply): Promise<void> {
    const body = readJsonBody(request.body);
    const { Prefix, Context } = wire.decodeShape(SEARCH, body);
    refuseLong(Prefix);
    const contexts = contextsOf(Context);
    return this.answer(request, reply, body, (namespaces) => this.search.run(Prefix, contexts, namespaces));
  }

  private answer(
    request: ApiRequest,
    reply: ApiReply,
    body: unknown,
    run: (namespaces: Namespaces) => Promise<SearchResult | FuzzyResult>,
  ): Promise<void> {
    const namespaces = namespacesOfWrite(request.query, body);
    return this.reads.answerAtOnce(request, reply, async () => {
      const { index, matches, truncations } = await run(namespaces);
      const meta = { Index: index, LastContact: 0, KnownLeader: true, NextToken: '' };
      return { index, value: { Matches: matches, Truncations: truncations, ...meta } };
    });
  }
}
