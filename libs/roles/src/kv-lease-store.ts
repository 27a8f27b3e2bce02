import { jetstream, type JetStreamClient } from '@nats-io/jetstream';
import { Kvm, type KV, type KvWatchEntry } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/transport-node';
import { isWrongLastSequence, LEASES_BUCKET, type NatsLink } from '@waybill/journal';
import type { LeaseStore } from './lease-store.js';

/** Shortest time for one attempt to write a lease, milliseconds. */
export const LEASE_WRITE_TIMEOUT_MS = 700;
/**
 * Share of the TTL that one attempt may take, so that after a lost answer there is time for another before the holder
 * gives up.
 */
export const WRITE_SHARE = 0.25;
/** Pause before a watch that ended is opened again, milliseconds. */
export const WATCH_PAUSE_MS = 250;

/**
 * Leases in the KV bucket `LEASES`: one key for each role, whose value names the holder. The server removes it after
 * its TTL.
 *
 * Taking and renewing are publishes to the key's subject on the condition of its last revision, with a TTL of their
 * own: the client's `update` has no TTL and would make the lease permanent. The server keeps whole seconds, at least
 * one; the TTL is rounded up, so that the server never releases a lease before its holder does.
 */
export class KvLeaseStore implements LeaseStore {
  private readonly js: JetStreamClient;
  private bucket: Promise<KV> | undefined;

  /**
   * @param link the connection that carries the leases
   * @param log the connection that carries the log: while it is down nothing is taken or renewed, because a holder that
   *   cannot read the log must not keep its role
   */
  constructor(
    private readonly link: NatsLink,
    private readonly log: Pick<NatsLink, 'up'> = link,
  ) {
    this.js = jetstream(link.nc, { timeout: LEASE_WRITE_TIMEOUT_MS });
  }

  async acquire(role: string, holder: string, ttlMs: number): Promise<number | undefined> {
    const entry = await (await this.kv()).get(role);
    if (entry?.operation === 'PUT') return undefined;
    return this.put(role, holder, ttlMs, entry?.revision ?? 0);
  }

  async renew(role: string, holder: string, ttlMs: number, revision: number): Promise<number | undefined> {
    return this.put(role, holder, ttlMs, revision);
  }

  async release(role: string, revision: number): Promise<void> {
    if (!this.link.up) return; // the lease expires
    try {
      await (await this.kv()).delete(role, { previousSeq: revision });
    } catch (e) {
      if (!isWrongLastSequence(e)) throw e;
    }
  }

  watch(role: string, onFree: () => void): () => void {
    let stopped = false;
    let entries: QueuedIterator<KvWatchEntry> | undefined;
    const run = async (): Promise<void> => {
      while (!stopped && !this.link.closed) {
        try {
          entries = await (await this.kv()).watch({ key: role });
          if (stopped) break;
          for await (const entry of entries) if (entry.operation !== 'PUT') onFree();
        } catch {
          // The server is unreachable: the lease polls as well, and the watch is opened again.
        }
        if (!stopped) await new Promise((resolve) => setTimeout(resolve, WATCH_PAUSE_MS));
      }
      entries?.stop();
    };
    void run();
    return () => {
      stopped = true;
      entries?.stop();
    };
  }

  private async put(role: string, holder: string, ttlMs: number, lastRevision: number): Promise<number | undefined> {
    if (!this.link.up || !this.log.up) throw new Error('not connected to NATS');
    try {
      const ack = await this.js.publish(`$KV.${LEASES_BUCKET}.${role}`, holder, {
        ttl: `${Math.max(1, Math.ceil(ttlMs / 1000))}s`,
        expect: { lastSubjectSequence: lastRevision },
        timeout: writeTimeoutMs(ttlMs),
      });
      return ack.seq;
    } catch (e) {
      if (!isWrongLastSequence(e)) throw e;
      // If this contender holds it, an earlier write arrived and its answer was lost.
      const entry = await (await this.kv()).get(role);
      return entry?.operation === 'PUT' && entry.string() === holder ? entry.revision : undefined;
    }
  }

  private kv(): Promise<KV> {
    this.bucket ??= new Kvm(this.js).open(LEASES_BUCKET).catch((e: unknown) => {
      this.bucket = undefined;
      throw e;
    });
    return this.bucket;
  }
}

/** Timeout of one attempt: a longer TTL, which an operator sets for a slow network, allows longer answers. */
export const writeTimeoutMs = (ttlMs: number): number => Math.max(LEASE_WRITE_TIMEOUT_MS, ttlMs * WRITE_SHARE);
