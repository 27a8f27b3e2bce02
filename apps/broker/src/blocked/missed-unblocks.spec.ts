import type { Evaluation, Node } from '@waybill/model';
import { fixtures, type StateMachine } from '@waybill/state';
import { beforeEach, expect, it } from 'vitest';
import { freedSince } from './missed-unblocks.js';

const SINCE = 100;
const [HERE, THERE] = [fixtures.uuid(1), fixtures.uuid(2)];

let machine: StateMachine;

beforeEach(() => {
  machine = fixtures.aMachine();
});

const freed = () => [...freedSince(machine.tables, SINCE)].map(({ key, index }) => `${key} at ${index}`);
const put = {
  node: (over: Partial<Node>) => {
    const node = fixtures.aNode({ ModifyIndex: SINCE, ...over });
    machine.tables.nodes.replace(node.ID, node);
  },
  alloc: (over: Parameters<typeof fixtures.anAlloc>[0]) => {
    const alloc = fixtures.anAlloc({ NodeID: HERE, ClientStatus: 'complete', ...over });
    machine.tables.allocs.replace(alloc.ID, alloc);
  },
  volume: (ID: string, ModifyIndex: number) =>
    machine.tables.csi_volumes.replace(`default/${ID}`, { ...fixtures.aCSIVolume({ ID }), ModifyIndex }),
  deregistration: (over: Partial<Evaluation>) => {
    const evaluation = fixtures.anEval({ TriggeredBy: 'job-deregister', ...over });
    machine.tables.evals.replace(evaluation.ID, evaluation);
  },
  job: (ID: string, CreateIndex: number) =>
    machine.tables.jobs.replace(`default/${ID}`, fixtures.aJob({ ID, CreateIndex })),
};

it('EB-159: nodes that became ready, and volumes that changed, after the index and not at it', () => {
  put.node({ ID: HERE, ComputedClass: 'v1:here' });
  put.node({ ID: THERE, ComputedClass: 'v1:there', ModifyIndex: SINCE + 1 });
  put.volume('old', SINCE);
  put.volume('new', SINCE + 1);
  expect(freed()).toEqual(['v1:there at 101', 'csi-volume:default:new at 101']);
});

it('EB-159, EB-175: the nodes of allocations that ended after the index, if they still exist', () => {
  put.node({ ID: HERE, ComputedClass: 'v1:here' });
  put.alloc({ ModifyIndex: SINCE });
  put.alloc({ ModifyIndex: SINCE + 1, NodeID: fixtures.uuid(3) });
  expect(freed()).toEqual([]);
  put.alloc({ ModifyIndex: SINCE + 2, ClientStatus: 'failed' });
  put.alloc({ ModifyIndex: SINCE + 3, ClientStatus: 'running' });
  expect(freed()).toEqual(['v1:here at 102']);
});

it('EB-159, ST-65: every node after the newest purge: of a job that is gone, or was registered anew', () => {
  put.node({ ID: HERE, ComputedClass: 'v1:here' });
  put.deregistration({ JobID: 'gone', ModifyIndex: SINCE });
  expect(freed()).toEqual([]);
  put.deregistration({ JobID: 'stopped', ModifyIndex: SINCE + 9, CreateIndex: SINCE + 9 });
  put.job('stopped', SINCE + 9);
  put.deregistration({ JobID: 'gone', TriggeredBy: 'job-register', ModifyIndex: SINCE + 8 });
  expect(freed()).toEqual([]);
  put.deregistration({ JobID: 'anew', ModifyIndex: SINCE + 2, CreateIndex: SINCE + 2 });
  put.job('anew', SINCE + 3);
  put.deregistration({ JobID: 'gone', ModifyIndex: SINCE + 1 });
  expect(freed()).toEqual(['v1:here at 102']);
});
