import { canonicalJson } from '../machine/canonical-json.js';
import { CLAIM_STATE } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import { ARCHIVED_TABLES, archiveLines, BadRowsError, readArchive } from './state-archive.js';
import { OWN_STATE } from './state-restore.js';
import { type Applied, StateMachine } from '../machine/state-machine.js';
import { restoredIndexOf, SINGLETON_KEY, TABLE_NAMES, type TableName } from '../machine/tables.js';

const { aMachine, aDeployment, aJob, anAlloc, apply } = fixtures;

const SEEDS = [3, 20_261_121];

function restored(machine: StateMachine, lines: readonly string[]): Applied {
  const archive = { Archive: 'a', SHA256: '', Bytes: 0, Index: 1 };
  return apply(machine, 'StateRestore', { ...archive, Tables: readArchive(lines) });
}

/** Rows of a table by key, as texts. */
const rowsOf = (machine: StateMachine, table: TableName): Map<string, string> =>
  new Map([...machine.tables[table].entries()].map(([key, row]) => [key, canonicalJson(row)]));

/** The same state, as a service that started later may have it in memory. */
function loadedBackwards({ tables, appliedIndex }: StateMachine): StateMachine {
  const machine = new StateMachine();
  for (const name of TABLE_NAMES)
    for (const [key, row] of [...tables[name].entries()].toReversed()) machine.tables[name].replace(key, row as never);
  machine.startAt(appliedIndex);
  return machine;
}

describe.each(SEEDS)('a state of seed %i that is taken back', (seed) => {
  const txns = fixtures.aRandomLog(seed, 900);
  const then = new StateMachine();
  for (const txn of txns.slice(0, 500)) then.apply(txn);
  const lines = [...archiveLines(then.tables)];
  const machine = new StateMachine();
  for (const txn of txns) machine.apply(txn);
  const before = new Map(TABLE_NAMES.map((table) => [table, rowsOf(machine, table)]));
  const reversed = loadedBackwards(machine);
  const applied = restored(machine, lines);

  it('ST-144, OP-46: every table is what it was, with its indexes; only who holds a role is not', () => {
    expect(applied.verdict.kind).toBe('accepted');
    for (const table of ARCHIVED_TABLES) {
      if (table === 'cluster_meta' || table === 'deployment') continue;
      expect([table, rowsOf(machine, table)]).toEqual([table, rowsOf(then, table)]);
    }
    for (const [role, row] of rowsOf(machine, 'leases')) {
      const { Epoch, Holder } = JSON.parse(before.get('leases')?.get(role) ?? '') as { Epoch: number; Holder: string };
      expect(JSON.parse(row)).toEqual({ Role: role, Epoch: Epoch + 1, Holder, ModifyIndex: 901 });
    }
    expect(rowsOf(machine, 'leases').size).toBe(before.get('leases')?.size);
    expect(machine.appliedIndex).toBe(901);
    expect(machine.tables.cluster_meta.get(SINGLETON_KEY)).toMatchObject({ RestoredIndex: 901, ModifyIndex: 901 });
  });

  it('ST-133: an active deployment without its job ends', () => {
    for (const [key, row] of then.tables.deployment.entries()) {
      const orphan = !then.tables.jobs.has(`${row.Namespace}/${row.JobID}`);
      const now = machine.tables.deployment.get(key);
      if (orphan && now?.ModifyIndex === 901) expect(now.Status).toBe('cancelled');
      else expect(now).toEqual(row);
    }
  });

  it('whoever follows the changes has the same state as whoever applied the restore', () => {
    for (const { table, key, after } of applied.changes) {
      const text = after && canonicalJson(after);
      const rows = before.get(table);
      if (text === undefined) rows?.delete(key);
      else rows?.set(key, text);
    }
    for (const table of TABLE_NAMES) expect([table, before.get(table)]).toEqual([table, rowsOf(machine, table)]);
  });

  it('ST-3: a copy whose rows were loaded in another order makes the same changes, in the same order', () => {
    const changed = ({ changes }: Applied): string[] => changes.map(({ table, key }) => `${table} ${key}`);
    expect(changed(restored(reversed, lines))).toEqual(changed(applied));
  });

  it('EV-12, EV-71, ND-176: it is one transaction without object events, of nodes neither', () => {
    expect(applied.changes.some(({ table }) => table === 'nodes')).toBe(true);
    expect(eventsOf(applied)).toBeNull();
  });
});

describe('restoring', () => {
  const [LIVE, ENDED, NONE] = [fixtures.uuid(1), fixtures.uuid(2), fixtures.uuid(3)];
  const archiveOfReleases = (): string[] => {
    const { tables } = aMachine();
    const step = (AllocationID: string) => fixtures.aCSIClaim({ AllocationID, State: CLAIM_STATE.nodeDetached });
    const claim = (AllocationID: string) => fixtures.aCSIClaim({ AllocationID });
    const volume = fixtures.aCSIVolume({
      WriteClaims: { [LIVE]: claim(LIVE), [ENDED]: claim(ENDED) },
      PastClaims: { [LIVE]: step(LIVE), [ENDED]: step(ENDED), [NONE]: step(NONE) },
      ModifyIndex: 7,
    });
    tables.csi_volumes.replace('default/data', volume);
    tables.allocs.replace(LIVE, anAlloc({ ID: LIVE, ClientStatus: 'running' }));
    tables.allocs.replace(ENDED, anAlloc({ ID: ENDED, ClientStatus: 'complete' }));
    tables.allocs.replace(NONE, anAlloc({ ID: NONE, ClientStatus: 'running' }));
    return [...archiveLines(tables)];
  };

  it('VL-309: a running allocation has its claim, however far the archive says that this was given back', () => {
    const machine = aMachine();
    restored(machine, archiveOfReleases());
    const volume = machine.tables.csi_volumes.get('default/data');
    expect(Object.keys(volume?.PastClaims ?? {}).toSorted()).toEqual([ENDED, NONE]);
    expect(Object.keys(volume?.WriteClaims ?? {}).toSorted()).toEqual([LIVE, ENDED]);
    expect(volume?.ModifyIndex).toBe(machine.appliedIndex);
  });

  const deletion = (machine: StateMachine, epoch: number): Applied => {
    const payload = { EvalIDs: [], AllocIDs: [], ScanIndex: 0, UserInitiated: false };
    const txn = fixtures.aTxn(machine.appliedIndex + 1, 'EvalDelete', payload);
    return machine.apply({ ...txn, fence: { role: 'broker', epoch } });
  };
  const takeRole = (machine: StateMachine, Epoch: number): Applied =>
    apply(machine, 'LeaseAcquired', { Role: 'broker', Epoch, Holder: 'x' });

  it('ST-15: what a holder writes that has not seen the restore is void; who takes the role then counts', () => {
    const machine = aMachine();
    takeRole(machine, 1);
    expect(deletion(machine, 1).verdict.kind).not.toBe('void');
    restored(machine, [...archiveLines(machine.tables)]);
    expect(deletion(machine, 1).verdict.kind).toBe('void');
    expect(takeRole(machine, 2).verdict.kind).toBe('refused'); // proposed before the restore
    expect(takeRole(machine, 3).verdict.kind).toBe('accepted');
    expect(deletion(machine, 3).verdict.kind).not.toBe('void');
  });

  describe('of what nodes report', () => {
    const reporting = () => {
      const machine = aMachine();
      const node = fixtures.aNode();
      apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
      const alloc = anAlloc({ NodeID: node.ID, ClientStatus: 'running' });
      machine.tables.allocs.replace(alloc.ID, alloc);
      const report = (after: number) => ({
        Allocs: [fixtures.aClientUpdate(alloc, { ClientStatus: 'complete' })],
        Evals: [],
        After: { [node.ID]: after },
      });
      restored(machine, [...archiveLines(machine.tables)]);
      return { machine, node, report, status: () => machine.tables.allocs.get(alloc.ID)?.ClientStatus };
    };

    it('OP-47, ND-223: what it says that has not heard of the restore is not taken; once it has, it is', () => {
      const { machine, node, report, status } = reporting();
      const RestoredIndex = machine.appliedIndex;
      const late = apply(machine, 'AllocClientUpdate', report(0));
      expect(late.verdict).toEqual({ kind: 'noop', result: { OvertakenNodes: { [node.ID]: RestoredIndex } } });
      expect(status()).toBe('running');
      const told = apply(machine, 'AllocClientUpdate', report(RestoredIndex));
      expect([told.verdict.kind, status()]).toEqual(['accepted', 'complete']);
      expect(apply(machine, 'AllocClientUpdate', report(RestoredIndex)).verdict.kind).toBe('noop');
      expect(apply(machine, 'AllocClientUpdate', report(told.index)).verdict.kind).toBe('accepted');
    });
  });

  it('ST-133 DP-1404: says why the deployment ended', () => {
    const row = aDeployment({ ID: 'left-behind', JobID: 'gone', Status: 'running', ModifyIndex: 7 });
    const machine = aMachine();
    restored(machine, [JSON.stringify({ table: 'deployment', row })]);
    expect(machine.tables.deployment.get('left-behind')).toMatchObject({
      Status: 'cancelled',
      StatusDescription: 'Cancelled because job is stopped',
      ModifyIndex: machine.appliedIndex,
    });
  });

  it('of a job that allocations share there is one copy, in the archive and afterwards', () => {
    const from = aMachine();
    const Job = aJob({});
    for (const ID of ['a', 'b']) from.tables.allocs.replace(ID, anAlloc({ ID, Job }));
    from.tables.allocs.replace('c', anAlloc({ ID: 'c', Job: null }));
    const lines = [...archiveLines(from.tables)];
    expect(lines.filter((line) => line.startsWith('{"job":'))).toHaveLength(1);
    const [a, b, c] = readArchive(lines).allocs ?? [];
    expect([a?.Job, c?.Job]).toEqual([Job, null]);
    expect(a?.Job).toBe(b?.Job);
  });

  it('changes nothing but its mark if the state is that already', () => {
    const machine = aMachine();
    const { changes } = restored(machine, [...archiveLines(machine.tables)]);
    expect(changes.map(({ table }) => table)).toEqual(['cluster_meta']);
  });

  it('ST-1: one that names no archive keeps every row, ends all terms and begins a history', () => {
    const machine = aMachine();
    apply(machine, 'LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'x' });
    const before = [...rowsOf(machine, 'jobs'), ...rowsOf(machine, 'allocs')];
    const { index, verdict, changes } = apply(machine, 'StateRestore', OWN_STATE);
    expect(verdict.kind).toBe('accepted');
    expect([...rowsOf(machine, 'jobs'), ...rowsOf(machine, 'allocs')]).toEqual(before);
    expect(new Set(changes.map(({ table }) => table))).toEqual(new Set(['leases', 'cluster_meta']));
    expect(machine.epochOf('broker')).toBe(2);
    expect(restoredIndexOf(machine.tables)).toBe(index);
  });

  const indexesOf = ({ tables }: StateMachine) =>
    Object.fromEntries(TABLE_NAMES.map((name) => [name, tables[name].tableIndex]));
  const everyTableAt = (index: number) => Object.fromEntries(TABLE_NAMES.map((name) => [name, index]));

  it('ST-27, OP-46: an archive moves the index of every table, whatever the tables were before', () => {
    const machine = aMachine();
    const applied = restored(machine, [...archiveLines(machine.tables)]);
    expect(applied.movesEveryTableIndex).toBe(true);
    expect(indexesOf(machine)).toEqual(everyTableAt(applied.index));
  });

  it.each([
    ['one that names no archive', OWN_STATE, 5],
    ['one of schema version 4', { Archive: 'a', SHA256: '', Bytes: 0, Index: 1, Tables: {} }, 4],
  ])('ST-8, ST-27: %s moves only the indexes of tables with a change', (_, payload, schemaVersion) => {
    const machine = aMachine();
    machine.tables.jobs.tableIndex = machine.appliedIndex;
    const index = machine.appliedIndex + 1;
    const applied = machine.apply({ ...fixtures.aTxn(index, 'StateRestore', payload), schemaVersion });
    expect(applied.verdict.kind).toBe('accepted');
    expect(applied.movesEveryTableIndex).toBeUndefined();
    const changed = new Set<string>(applied.changes.map(({ table }) => table));
    expect(changed).not.toContain('jobs');
    const moved = TABLE_NAMES.filter((name) => machine.tables[name].tableIndex === index);
    expect(new Set<string>(moved)).toEqual(changed);
  });

  it('ST-5, ST-27: one that is refused moves no index', () => {
    const machine = aMachine();
    const before = indexesOf(machine);
    const payload = { Archive: 'a', SHA256: '', Bytes: 0, Index: 1 }; // without what the archive holds
    const applied = machine.apply(fixtures.aTxn(machine.appliedIndex + 1, 'StateRestore', payload));
    expect([applied.verdict.kind, applied.movesEveryTableIndex]).toEqual(['refused', undefined]);
    expect(indexesOf(machine)).toEqual(before);
  });

  it('stops whoever has only what is in the log', () => {
    const payload = { Archive: 'a', SHA256: '', Bytes: 0, Index: 1 };
    expect(() => apply(aMachine(), 'StateRestore', payload)).toThrow('what its archive holds');
  });

  it.each([
    ['{"table":"leases","row":{}}', 'there is no table "leases"'],
    ['{"table":"jobs"}', 'not a row'],
    ['no JSON', 'not a row: no JSON'],
    ['null', 'not a row: null'],
    ['5', 'not a row: 5'],
    ['{"table":"jobs","row":null}', 'not a row: {"table":"jobs","row":null}'],
    ['{"job":1,"row":{}}', 'job 1 stands where job 0 belongs'],
    ['{"table":"allocs","row":{},"job":0}', 'job 0, which is not there'],
  ])('OP-45: %s is no line of an archive', (line, text) => {
    expect(() => readArchive([line])).toThrow(BadRowsError);
    expect(() => readArchive([line])).toThrow(text);
  });

  it('OP-45: a line that is no row is named by its beginning', () => {
    expect(() => readArchive(['x'.repeat(200)])).toThrow(/^not a row: x{80}$/);
  });
});
