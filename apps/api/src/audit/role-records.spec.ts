import { FakeTime } from '@waybill/model';
import type { RoleEvent } from '@waybill/rpc';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { leavesOut } from './audit-filter.js';
import { AuditLog } from './audit-log.js';
import { RoleRecords } from './role-records.js';

const by = { Role: 'broker', Epoch: 3, Holder: 'b3' } as const;
const rotation: RoleEvent = {
  Kind: 'write',
  ID: 'e1',
  TimeMs: Date.parse('2026-01-01T00:00:00Z'),
  By: by,
  TxnType: 'RootKeyUpsert',
  Object: { Kind: 'root-key', ID: 'k1' },
  Index: 12,
  RequestID: 'r1',
};
const refusedFence: RoleEvent = {
  ...rotation,
  ID: 'e2',
  By: { ...by, Epoch: 2, Holder: '' },
  Error: { Code: 'forbidden', Text: 'stale epoch' },
};
const machineCall: RoleEvent = {
  Kind: 'call',
  ID: 'e3',
  TimeMs: rotation.TimeMs,
  By: { Role: 'volumes', Epoch: 7, Holder: 'v7' },
  Call: 'agent.csi',
  NodeID: 'n1',
  TookMs: 4,
};
const refusedNode: RoleEvent = {
  Kind: 'registration',
  ID: 'e4',
  TimeMs: rotation.TimeMs,
  NodeID: 'n1',
  NodeName: 'm1',
  Error: { Code: 'forbidden', Text: 'node secret ID does not match' },
};

function setup({ isEnforced = true } = {}) {
  const lines: string[] = [];
  const sink = { most: Infinity };
  const log = new AuditLog({
    sinks: [
      {
        name: 'memory',
        write: async (line) => {
          if (lines.length >= sink.most) throw new Error('the disk is full');
          lines.push(line);
        },
        reopen: async () => {},
        close: async () => {},
      },
    ],
    isEnforced,
    leavesOut: leavesOut([{ name: 'roles', endpoints: ['*'], stages: ['*'], operations: ['ROLE'] }]),
    clock: new FakeTime(),
    newId: () => 'unused',
    logger: silentLogger,
    dropped: () => {},
  });
  const records = new RoleRecords({ parts: { recorder: { log, region: 'global' } } });
  return { records, sink, payloads: () => lines.map((line) => (JSON.parse(line) as { payload: object }).payload) };
}

describe('records of what services do by themselves', () => {
  it('AU-259, AU-281: operation ROLE, the role with its epoch and holder, the transaction that says the rest', async () => {
    const { records, payloads } = setup();
    expect(await records.take([refusedFence, refusedNode])).toEqual({ Taken: 2 });
    expect(payloads()).toEqual([
      {
        id: 'e2',
        stage: 'OperationComplete',
        type: 'audit',
        timestamp: '2026-01-01T00:00:00.000000000Z',
        version: 1,
        auth: { accessor_id: 'role:broker', epoch: 2 },
        request: {
          id: 'e2',
          operation: 'ROLE',
          endpoint: 'RootKeyUpsert',
          object: { kind: 'root-key', id: 'k1' },
          namespace: { id: '' },
          region: 'global',
          request_meta: { remote_address: '', user_agent: '' },
          node_meta: { ip: '' },
        },
        response: { status_code: 403, error: 'stale epoch', index: 12, request_id: 'r1' },
      },
      expect.objectContaining({
        auth: { accessor_id: 'client:n1', name: 'm1' },
        response: { status_code: 403, error: 'node secret ID does not match' },
      }),
    ]);
  });

  it('AU-280: a filter leaves out what succeeded, and never a refused fence or node', async () => {
    const { records, payloads } = setup();
    expect(await records.take([rotation, machineCall, refusedFence])).toEqual({ Taken: 3 });
    expect(payloads()).toMatchObject([{ id: 'e2' }]);
  });

  it('AU-278, AU-281: enforced, a record that cannot be written is not taken, and neither are those behind it', async () => {
    const { records, sink, payloads } = setup();
    sink.most = 1;
    expect(await records.take([refusedFence, refusedNode, refusedFence])).toEqual({ Taken: 1 });
    sink.most = 2;
    expect(await records.take([refusedNode])).toEqual({ Taken: 1 });
    expect(payloads()).toMatchObject([{ id: 'e2' }, { id: 'e4' }]);
  });

  it('AU-271: an API without an audit log takes all, so that services do not wait', async () => {
    expect(await new RoleRecords({ parts: undefined }).take([rotation, machineCall])).toEqual({ Taken: 2 });
  });
});
