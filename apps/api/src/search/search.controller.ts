import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { anybody } from '../access/needs.js';
import { MAX_SEARCH_BYTES, nameLengthErrors, wire } from '@waybill/model';
import { badRequest } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';
import { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { namespacesOfWrite } from '../http/write-options.js';
import { type FuzzyResult, FuzzySearch } from './fuzzy-search.js';
import { PrefixSearch, type SearchResult } from './prefix-search.js';
import { contextsOf } from './search-contexts.js';
import { type SearchScope, searchScopesOf } from './search-scopes.js';

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

/** The controller of `/v1/search` (API-250) and `/v1/search/fuzzy` (API-252). */
@Controller('v1/search')
export class SearchController {
  constructor(
    private readonly reads: Reads,
    private readonly search: PrefixSearch,
    private readonly fuzzySearch: FuzzySearch,
  ) {}

  @Put()
  @Needs(anybody)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.byPrefix(request, reply);
  }

  @Post()
  @Needs(anybody)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.byPrefix(request, reply);
  }

  @Put('fuzzy')
  @Needs(anybody)
  fuzzyPut(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.searchFuzzily(request, reply);
  }

  @Post('fuzzy')
  @Needs(anybody)
  fuzzyPost(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.searchFuzzily(request, reply);
  }

  private searchFuzzily(request: ApiRequest, reply: ApiReply): Promise<void> {
    const body = readJsonBody(request.body);
    const { Text, Context } = wire.decodeShape(FUZZY_SEARCH, body);
    refuseLong(Text);
    contextsOf(Context);
    return this.answer(request, reply, { body, context: Context }, (scopes) =>
      this.fuzzySearch.findByText(Text, scopes),
    );
  }

  private byPrefix(request: ApiRequest, reply: ApiReply): Promise<void> {
    const body = readJsonBody(request.body);
    const { Prefix, Context } = wire.decodeShape(SEARCH, body);
    refuseLong(Prefix);
    contextsOf(Context);
    return this.answer(request, reply, { body, context: Context }, (scopes) =>
      this.search.findByPrefix(Prefix, scopes),
    );
  }

  private answer(
    request: ApiRequest,
    reply: ApiReply,
    asked: { readonly body: unknown; readonly context: string },
    run: (scopes: readonly SearchScope[]) => Promise<SearchResult | FuzzyResult>,
  ): Promise<void> {
    const namespaces = namespacesOfWrite(request.query, asked.body);
    return this.reads.answerAtOnce(request, reply, async () => {
      const scopes = await searchScopesOf(request.access, asked.context, namespaces);
      const { index, matches, truncations } = await run(scopes);
      const meta = { Index: index, LastContact: 0, KnownLeader: true, NextToken: '' };
      return { index, value: { Matches: matches, Truncations: truncations, ...meta } };
    });
  }
}
