import { CsiArgumentError } from './errors.js';

const ACCESS_MODES = {
  'single-node-reader-only': 'SINGLE_NODE_READER_ONLY',
  'single-node-writer': 'SINGLE_NODE_WRITER',
  'multi-node-reader-only': 'MULTI_NODE_READER_ONLY',
  'multi-node-single-writer': 'MULTI_NODE_SINGLE_WRITER',
  'multi-node-multi-writer': 'MULTI_NODE_MULTI_WRITER',
} as const;

/** How a volume is used or may be used. The modes have Waybill's names (volumes.md 2.4). */
export interface VolumeUse {
  readonly attachmentMode: string;
  readonly accessMode: string;
  /** Empty for the plugin's choice. */
  readonly fsType?: string;
  /** Never shown, because they may contain secrets (CW-11). */
  readonly mountFlags?: readonly string[];
}

export interface WireVolumeCapability {
  readonly access_mode: { readonly mode: string } | null;
  readonly block?: Record<string, never> | null;
  readonly mount?: { readonly fs_type?: string; readonly mount_flags?: readonly string[] } | null;
}

/** @throws CsiArgumentError for a mode that CSI does not have (VL-240) */
export function volumeCapability(use: VolumeUse): WireVolumeCapability {
  const { attachmentMode, accessMode, fsType = '', mountFlags = [] } = use;
  if (!isAccessMode(accessMode)) throw new CsiArgumentError(`unknown volume access mode: ${accessMode}`);
  const access_mode = { mode: ACCESS_MODES[accessMode] };
  switch (attachmentMode) {
    case 'file-system':
      return { mount: { ...(fsType !== '' && { fs_type: fsType }), mount_flags: mountFlags }, access_mode };
    case 'block-device':
      return { block: {}, access_mode };
    default:
      throw new CsiArgumentError(`unknown volume attachment mode: ${attachmentMode}`);
  }
}

/** Returns the confirmed use. An access mode without a name here keeps the plugin's name. */
export function volumeUseOf(capability: WireVolumeCapability): VolumeUse {
  const mode = capability.access_mode?.mode ?? '';
  const named = Object.entries(ACCESS_MODES).find(([, name]) => name === mode);
  return {
    accessMode: named?.[0] ?? mode,
    attachmentMode: capability.block ? 'block-device' : 'file-system',
    fsType: capability.mount?.fs_type ?? '',
    mountFlags: capability.mount?.mount_flags ?? [],
  };
}

const isAccessMode = (mode: string): mode is keyof typeof ACCESS_MODES => Object.hasOwn(ACCESS_MODES, mode);
