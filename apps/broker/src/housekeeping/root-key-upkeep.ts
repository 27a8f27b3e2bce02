import { type CancelTimer, nsFromMs, ROOT_KEY_COLLECTION_NS, ROOT_KEY_ROTATION_NS, type RootKey } from '@waybill/model';
import { activeRootKey, compareText, isRootKeyInUse, type Tables } from '@waybill/state';
import type { FirstRootKeyDeps } from './first-root-key.js';

/** How often keys are looked at. */
export const UPKEEP_MS = 10 * 60_000;

type KeyTables = Pick<Tables, 'root_keys' | 'allocs' | 'nodes' | 'variables'>;

/** What is to be done to root keys now: one thing at a time (GC-79). */
export type Upkeep =
  | { readonly kind: 'promote'; readonly key: RootKey }
  /** Make a key that becomes active at this time, unix ns. */
  | { readonly kind: 'prepublish'; readonly publishTime: number }
  | { readonly kind: 'collect'; readonly keyIds: readonly string[] }
  | { readonly kind: 'noActiveKey' }
  | { readonly kind: 'nothing' };

/** Promotes before it prepublishes, and collects only where it does neither (GC-79 to GC-84). O(keys); more to collect. */
export function upkeepOf(tables: KeyTables, nowNs: number): Upkeep {
  const keys = [...tables.root_keys.all()].toSorted((a, b) => compareText(a.KeyID, b.KeyID));
  const [next] = keys.filter(({ State }) => State === 'prepublished').toSorted((a, b) => a.PublishTime - b.PublishTime);
  if (next && next.PublishTime <= nowNs) return { kind: 'promote', key: next };
  const active = activeRootKey(tables);
  if (!active) return { kind: keys.length > 0 ? 'noActiveKey' : 'nothing' };
  if (!next && nowNs - active.CreateTime > ROOT_KEY_ROTATION_NS / 2)
    return { kind: 'prepublish', publishTime: active.CreateTime + ROOT_KEY_ROTATION_NS };
  const isOver = ({ State, CreateTime, KeyID }: RootKey): boolean =>
    State === 'inactive' &&
    CreateTime < nowNs - ROOT_KEY_ROTATION_NS - ROOT_KEY_COLLECTION_NS &&
    !isRootKeyInUse(tables, KeyID);
  const keyIds = keys.filter(isOver).map(({ KeyID }) => KeyID);
  return keyIds.length > 0 ? { kind: 'collect', keyIds } : { kind: 'nothing' };
}

export interface RootKeyUpkeepDeps extends FirstRootKeyDeps {
  readonly tables: KeyTables;
}

/**
 * Rotates root keys and collects old ones, one step every UPKEEP_MS. What fails is tried again the next time.
 * Modes: running (start → stop), one term long.
 */
export class RootKeyUpkeep {
  private cancelNext: CancelTimer | undefined;
  private stopped = false;

  constructor(private readonly deps: RootKeyUpkeepDeps) {}

  start(): void {
    if (!this.deps.makeRootKey || this.stopped) return;
    this.cancelNext = this.deps.timers.after(UPKEEP_MS, () => void this.step().then(() => this.start()));
  }

  stop(): void {
    this.stopped = true;
    this.cancelNext?.();
  }

  private async step(): Promise<void> {
    const { tables, clock, logger } = this.deps;
    const nowNs = nsFromMs(clock.nowMs());
    const upkeep = upkeepOf(tables, nowNs);
    try {
      await this.carryOut(upkeep, nowNs);
    } catch (error) {
      if (!this.stopped) logger.warn('root keys could not be looked after', { error, step: upkeep.kind });
    }
  }

  private async carryOut(upkeep: Upkeep, CreateTime: number): Promise<void> {
    const { writer, newId, makeRootKey, logger } = this.deps;
    switch (upkeep.kind) {
      case 'promote': {
        const { CreateIndex: _created, ModifyIndex: _modified, ...key } = upkeep.key;
        await writer.write('RootKeyUpsert', { Key: { ...key, State: 'active' }, Rekey: false, MustExist: true });
        return;
      }
      case 'prepublish': {
        const said = { KeyID: newId(), State: 'prepublished', CreateTime, PublishTime: upkeep.publishTime } as const;
        const Key = await makeRootKey?.(said);
        if (Key && !this.stopped) await writer.write('RootKeyUpsert', { Key, Rekey: false, MustExist: false });
        return;
      }
      case 'collect':
        for (const KeyID of upkeep.keyIds) await writer.write('RootKeyDelete', { KeyID, Force: false });
        return;
      case 'noActiveKey':
        logger.warn('keyring has no active key: rotate keyring to repair');
        return;
      case 'nothing':
        return;
    }
  }
}
