import { nsFromMs, ROOT_KEY_COLLECTION_NS, ROOT_KEY_ROTATION_NS, type RootKey } from '@waybill/model';
import { activeRootKey, compareText, isRootKeyInUse, type Tables } from '@waybill/state';
import type { FirstRootKeyDeps } from './first-root-key.js';
import { HousekeepingLoop } from './housekeeping-loop.js';

/** Interval between two checks of the root keys. */
export const ROTATION_CHECK_MS = 10 * 60_000;

type KeyTables = Pick<Tables, 'root_keys' | 'allocs' | 'nodes' | 'variables'>;

/** The next step for the root keys: one at a time (GC-79). */
export type RotationStep =
  | { readonly kind: 'promote'; readonly key: RootKey }
  /** Make a key that becomes active at this time, unix ns. */
  | { readonly kind: 'prepublish'; readonly publishTime: number }
  | { readonly kind: 'collect'; readonly keyIds: readonly string[] }
  | { readonly kind: 'noActiveKey' }
  | { readonly kind: 'nothing' };

/**
 * Promotes a key before it prepublishes one, and collects old keys only if it does neither (GC-79 to GC-84). Cost: O(keys),
 * and for each old key the check whether it is in use.
 */
export function rotationStepOf(tables: KeyTables, nowNs: number): RotationStep {
  const keys = [...tables.root_keys.all()].toSorted((a, b) => compareText(a.KeyID, b.KeyID));
  const [next] = keys.filter(({ State }) => State === 'prepublished').toSorted((a, b) => a.PublishTime - b.PublishTime);
  if (next && next.PublishTime <= nowNs) return { kind: 'promote', key: next };
  const active = activeRootKey(tables);
  if (!active) return { kind: keys.length > 0 ? 'noActiveKey' : 'nothing' };
  if (!next && nowNs - active.CreateTime > ROOT_KEY_ROTATION_NS / 2)
    return { kind: 'prepublish', publishTime: active.CreateTime + ROOT_KEY_ROTATION_NS };
  const isCollectable = ({ State, CreateTime, KeyID }: RootKey): boolean =>
    State === 'inactive' &&
    CreateTime < nowNs - ROOT_KEY_ROTATION_NS - ROOT_KEY_COLLECTION_NS &&
    !isRootKeyInUse(tables, KeyID);
  const keyIds = keys.filter(isCollectable).map(({ KeyID }) => KeyID);
  return keyIds.length > 0 ? { kind: 'collect', keyIds } : { kind: 'nothing' };
}

export interface RootKeyRotationDeps extends FirstRootKeyDeps {
  readonly tables: KeyTables;
}

/**
 * Rotates root keys and collects old ones, one step every ROTATION_CHECK_MS. A failed step is tried again at the next check.
 */
export class RootKeyRotation extends HousekeepingLoop {
  constructor(private readonly deps: RootKeyRotationDeps) {
    const { timers, makeRootKey } = deps;
    super({ timers, firstPauseMs: ROTATION_CHECK_MS, isNeeded: makeRootKey !== undefined });
  }

  protected async runPass(): Promise<number> {
    const { tables, clock, logger } = this.deps;
    const nowNs = nsFromMs(clock.nowMs());
    const step = rotationStepOf(tables, nowNs);
    try {
      await this.carryOut(step, nowNs);
    } catch (error) {
      if (!this.stopped) logger.warn('a step of the root key rotation failed', { error, step: step.kind });
    }
    return ROTATION_CHECK_MS;
  }

  private async carryOut(step: RotationStep, CreateTime: number): Promise<void> {
    const { writer, newId, makeRootKey, logger } = this.deps;
    switch (step.kind) {
      case 'promote': {
        const { CreateIndex: _created, ModifyIndex: _modified, ...key } = step.key;
        await writer.write('RootKeyUpsert', { Key: { ...key, State: 'active' }, Rekey: false, MustExist: true });
        return;
      }
      case 'prepublish': {
        const specification = {
          KeyID: newId(),
          State: 'prepublished',
          CreateTime,
          PublishTime: step.publishTime,
        } as const;
        const Key = await makeRootKey?.(specification);
        if (Key && !this.stopped) await writer.write('RootKeyUpsert', { Key, Rekey: false, MustExist: false });
        return;
      }
      case 'collect':
        for (const KeyID of step.keyIds) await writer.write('RootKeyDelete', { KeyID, Force: false });
        return;
      case 'noActiveKey':
        logger.warn('keyring has no active key: rotate keyring to repair');
        return;
      case 'nothing':
    }
  }
}
