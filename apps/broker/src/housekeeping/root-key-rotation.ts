import { nsFromMs, ROOT_KEY_COLLECTION_NS, ROOT_KEY_ROTATION_NS, type RootKey } from '@waybill/model';
import { activeRootKey, collectableRootKeys, compareText, type Tables } from '@waybill/state';
import type { FirstRootKeyDeps } from './first-root-key.js';
import { HousekeepingLoop } from './housekeeping-loop.js';

/** Interval between two checks of the root keys, unless a setting says otherwise. */
export const ROTATION_CHECK_MS = 10 * 60_000;

/** RotationTimes says how long root keys are used and kept. */
export interface RotationTimes {
  /** Interval between two checks. */
  readonly checkMs: number;
  /** The age at which the next key becomes active. */
  readonly rotationNs: number;
  /** How long an inactive key stays beyond that age. */
  readonly collectionNs: number;
}

export const DEFAULT_ROTATION_TIMES: RotationTimes = {
  checkMs: ROTATION_CHECK_MS,
  rotationNs: ROOT_KEY_ROTATION_NS,
  collectionNs: ROOT_KEY_COLLECTION_NS,
};

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
export function rotationStepOf(
  tables: KeyTables,
  nowNs: number,
  { rotationNs, collectionNs }: Omit<RotationTimes, 'checkMs'> = DEFAULT_ROTATION_TIMES,
): RotationStep {
  const prepublished = [...tables.root_keys.all()].filter(({ State }) => State === 'prepublished');
  const [next] = prepublished.toSorted((a, b) => a.PublishTime - b.PublishTime || compareText(a.KeyID, b.KeyID));
  if (next && next.PublishTime <= nowNs) return { kind: 'promote', key: next };
  const active = activeRootKey(tables);
  if (!active) return { kind: tables.root_keys.size > 0 ? 'noActiveKey' : 'nothing' };
  if (!next && nowNs - active.CreateTime > rotationNs / 2)
    return { kind: 'prepublish', publishTime: active.CreateTime + rotationNs };
  const keyIds = collectableRootKeys(tables, nowNs - rotationNs - collectionNs);
  return keyIds.length > 0 ? { kind: 'collect', keyIds } : { kind: 'nothing' };
}

export interface RootKeyRotationDeps extends FirstRootKeyDeps {
  readonly tables: KeyTables;
  readonly rotationTimes?: RotationTimes | undefined;
}

/**
 * Rotates root keys and collects old ones, one step at each check. A failed step is tried again at the next check.
 */
export class RootKeyRotation extends HousekeepingLoop {
  private readonly times: RotationTimes;

  constructor(private readonly deps: RootKeyRotationDeps) {
    const { timers, makeRootKey, rotationTimes = DEFAULT_ROTATION_TIMES } = deps;
    super({ timers, firstPauseMs: rotationTimes.checkMs, isNeeded: makeRootKey !== undefined });
    this.times = rotationTimes;
  }

  protected async runPass(): Promise<number> {
    const { tables, clock, logger } = this.deps;
    const nowNs = nsFromMs(clock.nowMs());
    const step = rotationStepOf(tables, nowNs, this.times);
    try {
      await this.carryOut(step, nowNs);
    } catch (error) {
      if (!this.stopped) logger.warn('a step of the root key rotation failed', { error, step: step.kind });
    }
    return this.times.checkMs;
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
