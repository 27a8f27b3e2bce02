import { isRefusal, NS_PER_MS } from '@waybill/model';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { KeyClients } from './key-clients.js';
import { itemsOf, type Wish } from './wishes.js';

/** Simulated milliseconds. */
const LIFE_MS = [20_000, 240_000] as const;
const TTL_MS = [10_000, 20_000] as const;
const DELAY_MS = [1, 8_000] as const;
const RETRY_MS = [800, 6_000] as const;
/** A rival that stands still does so for up to this many TTLs, and then goes on as if nothing had happened. */
const STANDS_STILL_TTLS = 5;

/** The shares of a holder's next actions. The rest are renewals. */
const DIES = 0.08;
const STANDS_STILL = 0.1;
const RELEASES = 0.15;
const DELETES = 0.03;
const WRITES = 0.3;

/**
 * A client that wants a lock again and again: waits until it has it, holds it for a while, writes under it, and lets it go,
 * forgets to renew it, or dies.
 */
export class Rival {
  private readonly untilMs: number;

  constructor(
    private readonly path: string,
    private readonly clients: KeyClients,
    private readonly random: SeededRandom,
  ) {
    this.untilMs = clients.nowMs + random.between(...LIFE_MS);
  }

  async live(): Promise<void> {
    const { clients, random } = this;
    while (clients.nowMs < this.untilMs && !clients.over) {
      const ttlMs = Math.round(random.between(...TTL_MS));
      const id = await this.acquire(ttlMs);
      if (id === undefined) await clients.pause(random.between(...RETRY_MS));
      else if (!(await this.hold(id, ttlMs))) return;
    }
  }

  /** @returns the ID of the lock; undefined if another rival has the lock, or this one does not know */
  private async acquire(ttlMs: number): Promise<string | undefined> {
    const { clients, random, path } = this;
    const id = random.chance(0.5) ? random.uuid() : '';
    const items = itemsOf(random);
    const Lock = { ID: id, TTL: ttlMs * NS_PER_MS, LockDelay: Math.round(random.between(...DELAY_MS)) * NS_PER_MS };
    const wish = this.wish('acquire', id, items);
    const given = { Items: { ...items }, Lock };
    return clients.ask('acquire', random, async (api) => {
      const answer = await api.write(path, { operation: { op: 'lock-acquire' }, given }, wish.requestId);
      const lock = 'body' in answer ? answer.body?.['Lock'] : undefined;
      const lockId = typeof lock === 'object' && lock !== null && 'ID' in lock ? String(lock.ID) : '';
      clients.judge.answered(wish, answer, lockId);
      return answer.status === 200 ? lockId : undefined;
    });
  }

  /** @returns whether the rival goes on */
  private async hold(id: string, ttlMs: number): Promise<boolean> {
    const { clients, random } = this;
    for (;;) {
      await clients.pause(ttlMs * random.between(0.2, 0.8));
      if (clients.over) return false;
      const luck = random.next();
      if (luck < DIES) return false;
      if (luck < DIES + STANDS_STILL) await clients.pause(ttlMs * random.between(1, STANDS_STILL_TTLS));
      const next = random.next();
      if (next < RELEASES) return this.release(id);
      if (next < RELEASES + DELETES) return this.delete(id);
      const isHeld = next < RELEASES + DELETES + WRITES ? await this.write(id) : await this.renew(id);
      if (isHeld === false) return true;
    }
  }

  /** @returns false: the lock is lost; undefined: the rival does not know */
  private renew(id: string): Promise<boolean | undefined> {
    const { clients, random, path } = this;
    const askedMs = clients.nowMs;
    return clients.ask('renew', random, async (api) => {
      try {
        await api.renew(path, id);
        clients.judge.claims.renewed(id, askedMs);
        return true;
      } catch (error) {
        if (!isRefusal(error, 'conflict') && !isRefusal(error, 'not-found')) throw error;
        clients.judge.claims.renewalRefused(id);
        return false;
      }
    });
  }

  private write(id: string): Promise<boolean | undefined> {
    const { clients, random, path } = this;
    const items = itemsOf(random);
    const wish = this.wish('set', id, items);
    const given = { Items: { ...items }, Lock: { ID: id, TTL: 0, LockDelay: 0 } };
    return clients.ask('write under a lock', random, async (api) => {
      const answer = await api.write(path, { operation: { op: 'write' }, given }, wish.requestId);
      clients.judge.answered(wish, answer);
      return answer.status === 200;
    });
  }

  private async release(id: string): Promise<boolean> {
    const { clients, random, path } = this;
    const wish = this.wish('release', id);
    const given = { Lock: { ID: id, TTL: 0, LockDelay: 0 } };
    await clients.ask('release', random, async (api) => {
      const answer = await api.write(path, { operation: { op: 'lock-release' }, given }, wish.requestId);
      clients.judge.answered(wish, answer);
    });
    return true;
  }

  private async delete(id: string): Promise<boolean> {
    const { clients, random, path } = this;
    const wish = this.wish('delete', id);
    await clients.ask('delete under a lock', random, async (api) => {
      clients.judge.answered(wish, await api.remove(path, id, undefined, wish.requestId));
    });
    return true;
  }

  private wish(op: Wish['op'], lockId: string, items?: Wish['items']): Wish {
    const { clients, random, path } = this;
    const wish = { requestId: random.uuid(), path, op, lockId, askedMs: clients.nowMs };
    return clients.judge.asked(items ? { ...wish, items } : wish);
  }
}
