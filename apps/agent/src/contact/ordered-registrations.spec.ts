import { type Call, type NodeUpdateResponse, type Rpc, RpcUnavailableError } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { OrderedRegistrations } from './ordered-registrations.js';
import { OvertakenError } from './overtaken.js';

const answered = (NodeModifyIndex: number, isOvertaken = false): NodeUpdateResponse => ({
  HeartbeatTTL: 10e9,
  EvalIDs: [],
  NodeModifyIndex,
  NumNodes: 1,
  SchedulingEligibility: 'eligible',
  Status: 'ready',
  Index: isOvertaken ? 0 : NodeModifyIndex,
  ...(isOvertaken && { IsOvertaken: true }),
});

function setup(answers: readonly (NodeUpdateResponse | Error)[]) {
  const after: unknown[] = [];
  const left = [...answers];
  const rpc: Rpc = {
    ask: async <Req, Res>(_call: Call<Req, Res>, request: Req): Promise<Res> => {
      after.push((request as { After?: number }).After);
      const answer = left.shift();
      if (answer instanceof Error) throw answer;
      return answer as Res;
    },
  };
  const registrations = new OrderedRegistrations(rpc, { inRegistration: {} });
  return { after, send: () => registrations.send(() => fixtures.aNode()) };
}

it('ND-223: each comes after the last change that is known; a node that was changed since is registered after that', async () => {
  const { after, send } = setup([answered(300, true), answered(301), answered(302)]);
  expect((await send()).Index).toBe(301);
  await send();
  expect(after).toEqual([0, 300, 301]);
});

it('ND-223: of one whose answer was lost nothing is known, and the next one is told', async () => {
  const { after, send } = setup([
    answered(5),
    new RpcUnavailableError('nodes.register', 'timeout'),
    answered(6, true),
    answered(7),
  ]);
  await send();
  await expect(send()).rejects.toThrow('timeout');
  expect((await send()).Index).toBe(7);
  expect(after).toEqual([0, 5, 5, 6]);
});

it('a node that is changed again and again is told later', async () => {
  const { send } = setup([answered(1, true), answered(2, true), answered(3, true)]);
  await expect(send()).rejects.toThrow(OvertakenError);
});
