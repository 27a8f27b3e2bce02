/** A group's request for a volume. */
export interface VolumeRequest {
  Name: string;
  /** `csi` or `host`. */
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

/** A volume that an allocation requests. */
export interface AskedVolume {
  readonly request: VolumeRequest;
  /** ID of a CSI volume, or name of a host volume. */
  readonly source: string;
}

/** The members of a task group that concern volumes. */
interface GroupVolumes {
  readonly Name: string;
  readonly Volumes: Readonly<Record<string, VolumeRequest>> | null;
}

/**
 * Returns the volumes that the allocation's group requests in this version of its job. Empty if the version does not
 * have the group (VL-179).
 */
export function volumesAskedBy(
  alloc: { readonly Name: string; readonly TaskGroup: string },
  job: { readonly TaskGroups: readonly GroupVolumes[] } | null | undefined,
): AskedVolume[] {
  const group = job?.TaskGroups.find(({ Name }) => Name === alloc.TaskGroup);
  return Object.values(group?.Volumes ?? {}).map((request) => ({ request, source: volumeSource(request, alloc.Name) }));
}

/**
 * Returns the source of a volume for an allocation. With `per_alloc`, the part of the allocation's name from its last
 * `[` on is appended (VL-178).
 */
export function volumeSource(request: Pick<VolumeRequest, 'Source' | 'PerAlloc'>, allocName: string): string {
  if (!request.PerAlloc) return request.Source;
  const suffixAt = allocName.lastIndexOf('[');
  return suffixAt === -1 ? request.Source : `${request.Source}${allocName.slice(suffixAt)}`;
}
