/** What a group asks of a volume. */
export interface VolumeRequest {
  Name: string;
  /** `csi`, `host`. */
  Type: string;
  Source: string;
  ReadOnly: boolean;
  Sticky: boolean;
  AccessMode: string;
  AttachmentMode: string;
  MountOptions: MountOptions | null;
  PerAlloc: boolean;
}

export interface MountOptions {
  FSType: string;
  MountFlags: string[] | null;
}

export interface VolumeCapability {
  /** `file-system` or `block-device`. */
  AttachmentMode: string;
  /** One of the access modes of CSI, for host volumes also `single-node-single-writer` and `single-node-multi-writer`. */
  AccessMode: string;
}

/** Name of the volume that the allocation of this name uses: with `per_alloc` the suffix from its last `[` on (VL-178). */
export function volumeSource(request: Pick<VolumeRequest, 'Source' | 'PerAlloc'>, allocName: string): string {
  if (!request.PerAlloc) return request.Source;
  const suffixAt = allocName.lastIndexOf('[');
  return suffixAt === -1 ? request.Source : `${request.Source}${allocName.slice(suffixAt)}`;
}
