import { canonicalJson } from './canonical-json.js';
import { describe, expect, it } from 'vitest';
import type { TxnPayloads, TxnType } from '../log/catalogue.js';
import { fixtures } from '../fixtures.js';
import type { Txn } from '../log/txn.js';
import { HISTORY_TABLES, type ObjectChange, objectChanges } from './object-changes.js';
import { StateMachine } from './state-machine.js';
import { undone } from './undo.js';

const SEED = 20_260_103;

describe('objectChanges', () => {
  it('API-268: walking back from now gives every object as it was at every index', { timeout: 60_000 }, () => {
    const machine = new StateMachine();
    const rows = new Map<string, object | undefined>();
    const snapshots: Map<string, string>[] = [];
    const history: (readonly ObjectChange[])[] = [];
    const shown = (row: object | undefined): string =>
      row === undefined
        ? 'absent'
        : canonicalJson({
            ...row,
            Job: undefined,
            ...('ReadClaims' in row && { Secrets: undefined }),
            SealedSecret: undefined,
            ...('KeyID' in row && { Data: undefined }),
          });
    for (const txn of fixtures.aRandomLog(SEED, 400)) {
      const changes = objectChanges(machine.apply(txn));
      for (const { kind, namespace, id, change } of changes)
        if (change) rows.set(`${kind} ${namespace} ${id}`, change.after);
      history.push(changes);
      snapshots.push(new Map([...rows].map(([name, row]) => [name, shown(row)])));
    }
    for (let at = history.length - 1; at > 0; at--) {
      for (const { kind, namespace, id, op, undo } of history[at]!.toReversed()) {
        const name = `${kind} ${namespace} ${id}`;
        if (op === 'create') rows.delete(name);
        else if (undo) rows.set(name, undone(rows.get(name), undo));
      }
      const before = snapshots[at - 1]!;
      for (const [name, row] of rows)
        expect(shown(row), `seed ${SEED}, index ${at}: ${name}`).toBe(before.get(name) ?? 'absent');
    }
    const kinds = new Set(history.flat().map(({ kind }) => kind));
    expect(kinds.size).toBeGreaterThanOrEqual(Object.keys(HISTORY_TABLES).length - 1);
  });

  it('CL-1023: says what became of the object; a refused attempt is history too', () => {
    const machine = new StateMachine();
    let index = 0;
    const texts = <T extends TxnType>(type: T, payload: TxnPayloads[T]): string[] =>
      objectChanges(machine.apply(fixtures.aTxn(++index, type, payload))).map(
        ({ kind, op, text }) => `${kind} ${op}: ${text}`,
      );
    texts('Initialise', {});
    const Job = fixtures.aJob({ ID: 'web' });
    expect(texts('JobRegister', fixtures.aRegistration(Job))).toEqual(['job create: created']);
    expect(texts('JobRegister', fixtures.aRegistration({ ...Job, Priority: 51 }))).toEqual([
      'job update: version 0 -> 1',
    ]);
    const Node = fixtures.aNode();
    texts('NodeRegister', { Node, CreateNodePool: false });
    const drain = {
      NodeID: Node.ID,
      DrainStrategy: { Deadline: 3_600e9, IgnoreSystemJobs: false, ForceDeadline: null, StartedAt: null },
      MarkEligible: false,
      UpdatedAt: 1,
      Meta: {},
      UpdatedBy: '',
      NodeEvent: null,
    };
    expect(texts('NodeUpdateDrain', drain)).toEqual([
      'node update: eligibility eligible -> ineligible, drain on, deadline 1h0m0s',
    ]);
    expect(texts('NodeDeregister', { NodeID: 'nobody' })).toEqual(['node none: ']);
    expect(texts('JobStability', { JobID: 'web', JobVersion: 9, Stable: true })).toEqual(['job none: ']);
  });

  it('CL-1023: a transaction that changed nothing names the object that it was about', () => {
    const none = <T extends TxnType>(type: T, payload: object): string[] => {
      const txn = { ...fixtures.aTxn(2, type, payload as TxnPayloads[T]), namespace: 'team' } as Txn;
      return objectChanges({ txn, verdict: { kind: 'noop' }, changes: [] } as never).map(
        ({ kind, namespace, id, op, undo, change }) => {
          expect([op, undo, change]).toEqual(['none', null, undefined]);
          return `${kind} ${namespace}/${id}`;
        },
      );
    };
    const cases: [TxnType, object, string][] = [
      ['JobRegister', { Job: { ID: 'j' } }, 'job team/j'],
      ['JobDeregister', { JobID: 'j' }, 'job team/j'],
      ['JobStability', { JobID: 'j' }, 'job team/j'],
      ['NodeRegister', { Node: { ID: 'n' } }, 'node /n'],
      ['NodeDeregister', { NodeID: 'n' }, 'node /n'],
      ['NodeUpdateStatus', { NodeID: 'n' }, 'node /n'],
      ['NodeUpdateDrain', { NodeID: 'n' }, 'node /n'],
      ['NodeUpdateEligibility', { NodeID: 'n' }, 'node /n'],
      ['DeploymentStatusUpdate', { Update: { DeploymentID: 'd' } }, 'deployment team/d'],
      ['DeploymentPromote', { DeploymentID: 'd' }, 'deployment team/d'],
      ['DeploymentAllocHealth', { DeploymentID: 'd' }, 'deployment team/d'],
      ['CSIVolumeClaim', { VolumeID: 'v' }, 'volume team/v'],
      ['CSIPluginDelete', { ID: 'p' }, 'plugin /p'],
      ['HostVolumeRegister', { Volume: { Namespace: 'own', ID: 'v' } }, 'host-volume own/v'],
      ['HostVolumeDelete', { ID: 'v' }, 'host-volume team/v'],
      ['VarApplyState', { Path: 'a/b' }, 'var team/a/b'],
      ['SchedulerConfig', {}, 'scheduler-config /scheduler-config'],
    ];
    for (const [type, payload, name] of cases) expect(none(type, payload), type).toEqual([name]);
    expect(none('ReconcileJobSummaries', { Queued: [] })).toEqual([]);
    expect(none('JobDeregister', { JobID: 7 })).toEqual([]);
    expect(none('JobDeregister', { JobID: 'x'.repeat(3_000) })).toEqual([]);
  });
});
