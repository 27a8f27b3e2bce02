import { encodeNode, encodeNodeStub, type Node } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import { badRequest } from '../http/api-error.js';
import { ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { boolParam } from '../http/query-string.js';
import type { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

/** NodeList lists nodes as stubs: all nodes, those with an ID prefix, or those of a pool (ND-1 to ND-9, ND-187). */
export class NodeList {
  constructor(
    private readonly model: Pick<ReadModel, 'nodes'>,
    private readonly reads: Pick<Reads, 'list'>,
  ) {}

  async answer(
    request: ApiRequest,
    reply: ApiReply,
    chosen: { readonly prefix?: string | undefined; readonly pool?: string | undefined },
  ): Promise<void> {
    const { query } = request;
    const invalidFields = (text: string): Error => badRequest(`Failed to parse node list fields: ${text}`);
    const stub = {
      resources: boolParam(query, 'resources', invalidFields) ?? false,
      os: boolParam(query, 'os', invalidFields) ?? false,
    };
    const options = { ...chosen, ...pageOf(query) };
    const filter = ListFilter.of(query);
    await this.reads.list(request, reply, { tables: ['nodes'], scope: '*' }, async () => {
      // The filter sees the encoded node, so that nobody can guess a secret with it (ND-227).
      const keep = filter?.keep<Node>(encodeNode);
      const { index, rows, nextToken } = await this.model.nodes({ ...options, keep });
      return { index, nextToken, value: rows.map((node) => encodeNodeStub(node, stub)) };
    });
  }
}
