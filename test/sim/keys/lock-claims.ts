import type { Report } from '../checks/violation.js';
import type { Effect, StoredSecrets } from './stored-secrets.js';
import type { StoredLock } from './variable-rules.js';
import type { Wish } from './wishes.js';

/** The promises to a holder (OP-202), in true times, unix milliseconds. */
interface Claim {
  readonly path: string;
  readonly id: string;
  readonly ttlMs: number;
  readonly delayMs: number;
  /** When the holder asked for its last renewal that was acknowledged. */
  renewedMs: number;
}

const GRACE = 2;
/** Timers count whole milliseconds. */
const TICKS_MS = 5;

/**
 * Locks that clients were told are theirs. A holder may renew its lock until two TTLs after it asked for its last renewal,
 * and nobody else has the lock before the delay after that is over, whoever keeps the time (OP-200 to OP-202). A holder
 * that lets go, asked or not, claims nothing more; a restore or a power cut takes back the promises.
 */
export class LockClaims {
  readonly seen = new Map<string, number>();
  private readonly claims = new Map<string, Claim>();
  /** Locks that their holders let go. The answer to a renewal from before may come later. */
  private readonly letGo = new Set<string>();

  constructor(
    private readonly stored: StoredSecrets,
    private readonly nowMs: () => number,
    private readonly report: Report,
  ) {
    stored.onEffect((effect) => this.changed(effect));
    stored.onBack(() => this.claims.clear());
  }

  acquired({ path, askedMs }: Wish, id: string, lock: StoredLock | undefined): void {
    if (lock?.id !== id) return this.report('lock-has-one-holder', `${id} was said to hold ${path}, not ${lock?.id}`);
    this.note('lock acquired');
    const isHeld = this.stored.now.variables.get(path)?.lock?.id === id;
    if (this.letGo.has(id) || !isHeld) return; // the answer was late
    const known = this.claims.get(id);
    if (known) known.renewedMs = Math.max(known.renewedMs, askedMs);
    else this.claims.set(id, { path, id, ttlMs: lock.ttlMs, delayMs: lock.delayMs, renewedMs: askedMs });
  }

  /** @param askedMs when the holder asked */
  renewed(id: string, askedMs: number): void {
    const claim = this.claims.get(id);
    if (!claim) return;
    this.note('lock renewed');
    claim.renewedMs = Math.max(claim.renewedMs, askedMs);
  }

  /** A renewal was refused, which a holder that was in time need not expect. */
  renewalRefused(id: string): void {
    this.note('renewal refused');
    const claim = this.claims.get(id);
    if (claim && this.nowMs() < silentMs(claim) - TICKS_MS)
      this.report('lock-ended-early', `the renewal of ${id} of ${claim.path} was refused in time`);
    this.claims.delete(id);
  }

  letsGo(path: string, id: string): void {
    this.letGo.add(id);
    if (this.claims.get(id)?.path === path) this.claims.delete(id);
  }

  /** A write that showed a lock was refused. */
  refused({ path, lockId, op }: Wish): void {
    const claim = this.claims.get(lockId);
    if (op === 'set' && claim && this.nowMs() < endMs(claim) - TICKS_MS)
      this.report('lock-ended-early', `a write of the holder of ${path} was refused while ${lockId} held it`);
  }

  private changed({ index, path, before, after }: Effect): void {
    const id = before?.lock?.id;
    if (id === undefined || after?.lock?.id === id) return;
    const claim = this.claims.get(id);
    this.claims.delete(id);
    if (!claim || this.nowMs() >= endMs(claim) - TICKS_MS) return this.note('lock ended');
    this.report(
      'lock-has-one-holder',
      `${id} lost ${path} at index ${index}, ${Math.round(endMs(claim) - this.nowMs())} ms before its time`,
    );
  }

  private note(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }
}

const silentMs = ({ renewedMs, ttlMs }: Claim): number => renewedMs + GRACE * ttlMs;
const endMs = (claim: Claim): number => silentMs(claim) + claim.delayMs;
