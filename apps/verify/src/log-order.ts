import type { Applied, Tables } from '@waybill/state';
import type { Invariant, ReportViolation } from './invariant.js';

/** Indexes follow each other without a gap, so none is used twice (ST-1, ST-7). */
export class IndexOrder implements Invariant {
  private last: number | undefined;

  after({ index }: Applied, _tables: Tables, report: ReportViolation): void {
    if (this.last !== undefined && index !== this.last + 1)
      report({
        invariant: 'index-order',
        index,
        subject: `index ${index}`,
        message: `follows index ${this.last}; the next one is ${this.last + 1}`,
      });
    this.last = Math.max(index, this.last ?? 0);
  }
}

/**
 * An account of the epochs that does not believe the tables: a role that is taken has the next one, and a restore ends
 * every term (OP-46). Memory: one number per role.
 */
class Epochs {
  private readonly byRole = new Map<string, number>();

  of(role: string): number {
    return this.byRole.get(role) ?? 0;
  }

  follow({ txn, verdict }: Applied): void {
    if (verdict.kind !== 'accepted') return;
    if (txn.type === 'LeaseAcquired') {
      const { Role, Epoch } = txn.payload;
      this.byRole.set(Role, Math.max(Epoch, this.of(Role)));
    } else if (txn.type === 'StateRestore') for (const [role, epoch] of this.byRole) this.byRole.set(role, epoch + 1);
  }
}

/**
 * The epochs of a role follow each other, and whatever counted with a fence carried the epoch of its time (EB-144,
 * ST-15).
 */
export class EpochOrder implements Invariant {
  private readonly epochs = new Epochs();

  after(applied: Applied, _tables: Tables, report: ReportViolation): void {
    const { txn, index, verdict } = applied;
    const say = (role: string, message: string) =>
      report({ invariant: 'epoch-order', index, subject: `role ${role}`, message });
    // A second copy of a request is a no-op or refused like its first, whatever the epoch is by then (ST-6).
    if (txn.fence && verdict.kind === 'accepted') {
      const { role, epoch } = txn.fence;
      const current = this.epochs.of(role);
      if (epoch !== current) say(role, `${txn.type} was accepted with epoch ${epoch} while the epoch was ${current}`);
    }
    if (txn.type === 'LeaseAcquired' && verdict.kind === 'accepted') {
      const { Role, Epoch } = txn.payload;
      const before = this.epochs.of(Role);
      if (Epoch !== before + 1) say(Role, `epoch ${Epoch} was accepted after epoch ${before}`);
    }
    this.epochs.follow(applied);
  }
}

/** A rejected transaction says why, changed nothing, and if it was void its writer had been deposed (ST-9, ST-15). */
export class ExplainedVerdicts implements Invariant {
  private readonly epochs = new Epochs();
  private readonly voidedRequests = new Set<string>();

  after(applied: Applied, _tables: Tables, report: ReportViolation): void {
    const { txn, index, verdict, changes } = applied;
    const subject = `${txn.type} by ${txn.actor.Name || txn.actor.Kind}`;
    const say = (message: string) => report({ invariant: 'explained-verdict', index, subject, message });
    if (verdict.kind === 'refused' || verdict.kind === 'void') {
      if (verdict.error === '') say(`${verdict.kind} without a reason`);
      if (changes.length > 0) say(`${verdict.kind}, and yet it changed ${changes.length} rows`);
    }
    if (verdict.kind === 'void') {
      const current = txn.fence && this.epochs.of(txn.fence.role);
      const isStale = txn.fence !== undefined && current !== undefined && txn.fence.epoch < current;
      const isCopy = this.voidedRequests.has(txn.requestId);
      if (!isStale && !isCopy)
        say(
          txn.fence
            ? `void with epoch ${txn.fence.epoch} of role ${txn.fence.role}, whose epoch is ${current}`
            : 'void without a fence',
        );
      this.voidedRequests.add(txn.requestId);
    }
    this.epochs.follow(applied);
  }
}
