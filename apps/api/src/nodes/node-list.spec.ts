import type { Node } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import type { ReadResult } from '../http/read-result.js';
import type { Reads } from '../http/reads.js';
import type { ApiReply } from '../http/reply.js';
import { aRequest } from '../http/request.fixture.js';
import { NodeList } from './node-list.js';

const node = fixtures.aNode({ ID: 'n1', Attributes: { 'os.name': 'debian', 'kernel.name': 'linux' } });

/** What a list with this query answers of one node. */
async function answered(query: Record<string, string>): Promise<readonly Record<string, unknown>[]> {
  const model = {
    nodes: async ({ keep = () => true }: { keep?: (row: Node) => boolean }) => ({
      index: 1,
      rows: [node].filter(keep),
      nextToken: '',
    }),
  } as unknown as ReadModel;
  let value: unknown;
  const reads = {
    list: async (_request, _reply, _table, read) => void ({ value } = await read()),
  } satisfies { list: (a: unknown, b: unknown, c: unknown, read: () => Promise<ReadResult>) => Promise<void> };
  const list = new NodeList(model, reads as unknown as Reads);
  await list.answer(aRequest({ query }), {} as ApiReply, {});
  return value as readonly Record<string, unknown>[];
}

describe('a list of nodes', () => {
  it('ND-227: a filter sees no secret, so that it is no way to guess one', async () => {
    expect(node.SecretID).not.toBe('');
    const guess = (secret: string) =>
      answered({ filter: `SecretID == "${secret}"` }).catch((error: Error) => error.message);
    expect(await guess(node.SecretID)).toContain('couldn\'t find key: struct field with name "SecretID"');
    expect(await guess(node.SecretID)).toBe(await guess('another'));
    expect(await answered({ filter: 'ID == "n1" and Drain == false' })).toHaveLength(1);
  });

  it('ND-2, ND-3, API-74: resources and the name of the system where they are asked for, and only there', async () => {
    const members = async (query: Record<string, string>) => Object.keys((await answered(query))[0] ?? {});
    expect(await members({})).not.toContain('NodeResources');
    expect(await members({ resources: 'false' })).not.toContain('NodeResources');
    expect(await members({ resources: 'true' })).toEqual(
      expect.arrayContaining(['NodeResources', 'ReservedResources']),
    );
    expect(await members({})).not.toContain('Attributes');
    expect(await answered({ os: 'true' })).toMatchObject([{ Attributes: { 'os.name': 'debian' } }]);
    expect(Object.keys((await answered({ os: 'true' }))[0]!['Attributes'] as object)).toEqual(['os.name']);
  });
});
