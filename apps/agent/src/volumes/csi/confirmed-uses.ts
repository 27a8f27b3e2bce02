import type { VolumeUse } from '@waybill/csi';

/**
 * UnconfirmedUseError says that the plugin does not confirm a requested use (VL-20). No message contains mount flags
 * (CW-11).
 */
export class UnconfirmedUseError extends Error {
  override readonly name = 'UnconfirmedUseError';
  constructor(reason: string) {
    super(`volume capability validation failed: ${reason}`);
  }
}

/** Checks that the plugin has confirmed each requested use (VL-20). @throws UnconfirmedUseError */
export function checkConfirmed(asked: readonly VolumeUse[], confirmed: readonly VolumeUse[]): void {
  for (const use of asked)
    if (!confirmed.some((one) => covers(one, use)))
      throw new UnconfirmedUseError(`the plugin does not confirm ${use.accessMode} with ${use.attachmentMode}`);
}

/** Says whether a confirmation covers a use. An old plugin may name no access mode, which stands for any. */
function covers(confirmed: VolumeUse, asked: VolumeUse): boolean {
  const { accessMode, attachmentMode, fsType = '', mountFlags = [] } = confirmed;
  if (accessMode !== asked.accessMode && accessMode !== 'UNKNOWN' && accessMode !== '') return false;
  if (attachmentMode !== asked.attachmentMode) return false;
  if (attachmentMode !== 'file-system') return true;
  return fsType === (asked.fsType ?? '') && (asked.mountFlags ?? []).every((flag) => mountFlags.includes(flag));
}
