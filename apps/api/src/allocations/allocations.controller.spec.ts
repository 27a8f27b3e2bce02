import type { Allocation, TaskState } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import type { ReadResult } from '../http/read-result.js';
import type { Reads } from '../http/reads.js';
import type { ApiReply } from '../http/reply.js';
import { aRequest } from '../http/request.fixture.js';
import { AllocationsController } from './allocations.controller.js';

const TaskStates = { main: { State: 'running', Failed: false, Restarts: 0, Events: [] } as unknown as TaskState };
const alloc = { ...fixtures.anAlloc({ TaskStates }), ModifyIndex: 7 };

/** What the list answers of one allocation: the texts that it keeps, or with a filter the objects. */
async function answered(query: Record<string, string>): Promise<Record<string, unknown>> {
  const model = {
    allocationsKept: async (_: unknown, kept: { make: (row: Allocation) => Buffer }) => ({
      index: 7,
      rows: [kept.make(alloc)],
    }),
    allocations: async ({ keep }: { keep: (row: Allocation) => boolean }) => ({ index: 7, rows: [alloc].filter(keep) }),
  } as unknown as ReadModel;
  let value: unknown;
  const reads = {
    list: async (_request: unknown, _reply: unknown, _table: unknown, read: () => Promise<ReadResult>) =>
      void ({ value } = await read()),
  } as unknown as Reads;
  const controller = new AllocationsController(model, reads, undefined as never);
  await controller.list(aRequest({ query }), {} as ApiReply);
  const list = Array.isArray(value) ? value : JSON.parse((value as { text: Buffer }).text.toString());
  return (list as Record<string, unknown>[])[0]!;
}

it.each([{}, { filter: `ID == "${alloc.ID}"` }])(
  'API-75, API-76: resources only where they are asked for, states of tasks but where they are not (%j)',
  async (given) => {
    const filter = given as Record<string, string>;
    const [plain, more, less] = [
      await answered(filter),
      await answered({ ...filter, resources: 'true' }),
      await answered({ ...filter, task_states: 'false' }),
    ];
    expect(plain['AllocatedResources']).toBeUndefined();
    expect(more['AllocatedResources']).toMatchObject({ Tasks: {} });
    expect(Object.keys(plain['TaskStates'] as object)).toEqual(['main']);
    expect(Object.keys(more['TaskStates'] as object)).toEqual(['main']);
    expect(less['TaskStates']).toBeNull();
    expect(less['AllocatedResources']).toBeUndefined();
  },
);
