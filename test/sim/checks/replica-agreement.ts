import type { Replica } from '@waybill/replica';
import type { Applied, Change, StateMachine } from '@waybill/state';
import { frozen } from '../world/frozen.js';
import type { ReplicaWitness } from '../world/server.js';
import type { ReferenceState } from './reference-state.js';
import { equalRows } from './row-equality.js';
import type { SharedApplications } from './shared-application.js';
import { differingTable } from './state-equality.js';
import type { Report } from './violation.js';

/**
 * Every copy of the state makes of each transaction what every other makes: same verdict, same rows (ST-3). Looked at
 * at every index of every copy, and at rest at all rows.
 */
export class ReplicaAgreement implements ReplicaWitness {
  private readonly replicas = new Map<string, Replica>();
  private readonly next = new Map<string, number>();

  constructor(
    private readonly reference: ReferenceState,
    private readonly shared: SharedApplications,
    private readonly report: Report,
  ) {}

  loaded(server: string, machine: StateMachine): void {
    this.shared.loaded(server, machine);
  }

  started(server: string, replica: Replica): void {
    this.replicas.set(server, replica);
    this.next.set(server, replica.appliedIndex + 1);
  }

  died(server: string): void {
    this.replicas.delete(server);
  }

  applied(server: string, applied: Applied): void {
    const expected = this.next.get(server);
    if (applied.index !== expected)
      this.report('replica-order', `${server} applied ${applied.index} where ${expected} was next`);
    this.next.set(server, applied.index + 1);
    const reference = this.reference.applied[applied.index - 1];
    if (reference === applied) return; // taken over
    const difference = reference ? differenceOf(reference, applied) : 'is not in the log';
    if (difference !== undefined)
      this.report('replica-agreement', `${applied.txn.type} at index ${applied.index} on ${server}: ${difference}`);
    for (const { after } of applied.changes) frozen(after);
  }

  /** At rest: every copy has all of the log, and is the same. */
  finish(): void {
    const { machine } = this.reference;
    for (const [server, { tables, appliedIndex }] of this.replicas) {
      if (appliedIndex !== machine.appliedIndex)
        this.report('replica-behind', `${server} is at index ${appliedIndex} of ${machine.appliedIndex}`);
      const different = differingTable(machine.tables, tables);
      if (different) this.report('replica-agreement', `${different} of ${server} is not what the log makes`);
    }
  }
}

function differenceOf(expected: Applied, actual: Applied): string | undefined {
  if (expected.verdict.kind !== actual.verdict.kind || expected.verdict.error !== actual.verdict.error)
    return `verdict ${JSON.stringify(actual.verdict)} instead of ${JSON.stringify(expected.verdict)}`;
  if (expected.changes.length !== actual.changes.length)
    return `${actual.changes.length} rows changed instead of ${expected.changes.length}`;
  const at = expected.changes.findIndex((change, i) => !sameChange(change, actual.changes[i]));
  const change = expected.changes[at];
  return change && `row ${change.key} of ${change.table} differs`;
}

function sameChange(a: Change, b: Change | undefined): boolean {
  return a.table === b?.table && a.key === b.key && equalRows(a.after, b.after);
}
