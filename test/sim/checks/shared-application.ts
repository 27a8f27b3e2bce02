import {
  type Applied,
  type Change,
  type StateMachine,
  type Table,
  type Txn,
  isRejected,
  TABLE_NAMES,
} from '@waybill/state';
import type { ReferenceState } from './reference-state.js';
import { equalRows } from './row-equality.js';
import type { Report } from './violation.js';

/**
 * What a transaction does to the state is worked out twice in a run: by the reference, and by the copies of one server,
 * another one in each run. The other copies take over the rows that the reference made, wherever they stand in the log:
 * five times the same work would be a tenth of a run.
 *
 * A copy that takes over must stand where the reference stood: every row it is about to replace is compared with the one
 * that the reference replaced. So a copy that was loaded wrongly, or changed by somebody else, shows at the first
 * transaction that touches what is wrong, and at rest in any case. Cost: the rows changed.
 */
export class SharedApplications {
  constructor(
    private readonly reference: ReferenceState,
    /** Its copies apply everything themselves. */
    private readonly independent: string,
    private readonly report: Report,
  ) {}

  /** A copy that has just been loaded; one that replays the log from its beginning always applies for itself. */
  loaded(server: string, machine: StateMachine): void {
    if (server === this.independent) return;
    const applyItself = (txn: Txn): Applied => Object.getPrototypeOf(machine).apply.call(machine, txn) as Applied;
    machine.apply = (txn) => {
      const known = this.reference.applied[txn.index - 1];
      if (known?.txn !== txn || machine.appliedIndex !== txn.index - 1) return applyItself(txn);
      this.takeOver(server, machine, known);
      return known;
    };
  }

  private takeOver(
    server: string,
    machine: StateMachine,
    { txn, index, verdict, changes, movesEveryTableIndex }: Applied,
  ): void {
    for (const change of changes) {
      const table = machine.tables[change.table] as Table<object>;
      if (!equalRows(table.replace(change.key, change.after), change.before)) this.differs(server, index, change);
      table.tableIndex = index;
    }
    if (movesEveryTableIndex) for (const name of TABLE_NAMES) machine.tables[name].tableIndex = index;
    const rejected = isRejected(verdict) ? verdict : null;
    machine.requests.remember({ requestId: txn.requestId, index, timeNs: txn.timeNs, rejected });
    machine.startAt(index);
  }

  private differs(server: string, index: number, { table, key }: Change): void {
    this.report(
      'replica-agreement',
      `before index ${index}, row ${key} of ${table} on ${server} is not what the log made`,
    );
  }
}
