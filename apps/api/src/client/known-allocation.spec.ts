import { Acl } from '@waybill/acl';
import { MAX_TIMER_MS, NS_PER_HOUR } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { EVERYBODY_CALLS, restartAlloc, RpcError, RpcUnavailableError, UserRpc } from '@waybill/rpc';
import { describe, expect, it } from 'vitest';
import { anonymous } from '../access/caller.js';
import { ofObject } from '../access/needs.js';
import { RequestAccess } from '../access/request-access.js';
import { fullAccess } from '../http/request.fixture.js';
import { askAgent, restartTimeoutMs } from './agent-call.js';
import { knownAllocation } from './known-allocation.js';

const node = fixtures.aNode();
const alloc = fixtures.anAlloc({ NodeID: node.ID });

/** A read model that has these two, or one of them. */
const modelOf = (has: { alloc?: boolean; node?: boolean }): Parameters<typeof knownAllocation>[0] => ({
  allocation: async (id) => ({ row: has.alloc && id === alloc.ID ? alloc : undefined, index: 1 }),
  node: async (id) => ({ row: has.node && id === node.ID ? node : undefined, index: 1 }),
});
const refusing = (error: Error): UserRpc => new UserRpc({ ask: () => Promise.reject(error) }, EVERYBODY_CALLS);
const restart = (error: Error) =>
  askAgent(refusing(error), restartAlloc, { AllocID: alloc.ID, TaskName: '', AllTasks: false }, { target: node.ID });

describe('what is asked of the machine of an allocation', () => {
  it('JR-953: the right of the caller is checked before the machine is looked for, and hides what another namespace has', async () => {
    const access = (namespace: string) =>
      new RequestAccess(
        anonymous(Acl.compile([{ name: 'p', modifyIndex: 1, rules: `namespace "${namespace}" { policy = "write" }` }])),
        ofObject('alloc-lifecycle'),
        'default',
        () => Promise.reject(new Error('unused')),
      );
    const without = modelOf({ alloc: true });
    await expect(knownAllocation(without, alloc.ID, access('other'))).rejects.toMatchObject({ code: 'forbidden' });
    await expect(knownAllocation(modelOf({}), 'x', access('other'))).rejects.toMatchObject({ code: 'forbidden' });
    await expect(knownAllocation(without, alloc.ID, access(alloc.Namespace))).rejects.toThrow(
      `Unknown node ${node.ID}`,
    );
    await expect(knownAllocation(modelOf({}), 'x', access('default'))).rejects.toThrow('Unknown allocation "x"');
  });

  it('API-194: an allocation that nobody knows, then one whose machine is gone, are not there', async () => {
    await expect(knownAllocation(modelOf({ node: true }), 'x', fullAccess)).rejects.toMatchObject({
      code: 'not-found',
      message: 'Unknown allocation "x"',
    });
    await expect(knownAllocation(modelOf({ alloc: true }), alloc.ID, fullAccess)).rejects.toMatchObject({
      code: 'not-found',
      message: `Unknown node ${node.ID}`,
    });
    expect(await knownAllocation(modelOf({ alloc: true, node: true }), alloc.ID.toUpperCase(), fullAccess)).toBe(alloc);
  });

  it('JR-959: delays of months are waited for as long as a timer holds, not for a millisecond', () => {
    const [group] = alloc.Job?.TaskGroups ?? [];
    if (!alloc.Job || !group) throw new Error('the fixture has a job');
    const slow = { ...alloc, Job: { ...alloc.Job, TaskGroups: [{ ...group, ShutdownDelay: 60 * 24 * NS_PER_HOUR }] } };
    expect(restartTimeoutMs(slow)).toBe(MAX_TIMER_MS);
    expect(restartTimeoutMs(alloc)).toBeLessThan(3_600_000);
  });

  it('API-194, JR-953: no way to the machine is 404, what the machine refuses keeps its code and text', async () => {
    await expect(restart(new RpcUnavailableError('agent.restartAlloc', 'nobody'))).rejects.toMatchObject({
      code: 'not-found',
      message: expect.stringMatching(/^No path to node: .* does not answer\. .*"waybill agent invite"$/) as string,
    });
    await expect(restart(new RpcError('conflict', 'Task not running'))).rejects.toMatchObject({
      code: 'conflict',
      message: 'Task not running',
    });
    await expect(restart(new RpcError('not-found', `Unknown allocation "${alloc.ID}"`))).rejects.toMatchObject({
      code: 'not-found',
    });
  });
});
