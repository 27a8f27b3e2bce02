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

/** A volume that an allocation asks for. */
export interface AskedVolume {
  readonly request: VolumeRequest;
  /** The volume's ID, of a host volume its name. */
  readonly source: string;
}

/** A task group, as far as its volumes go. */
interface GroupVolumes {
  readonly Name: string;
  readonly Volumes: Readonly<Record<string, VolumeRequest>> | null;
}

/** What the allocation's group asks for in this version of its job; nothing if it is not in it any more (VL-179). */
export function volumesAskedBy(
  alloc: { readonly Name: string; readonly TaskGroup: string },
  job: { readonly TaskGroups: readonly GroupVolumes[] } | null | undefined,
): AskedVolume[] {
  const group = job?.TaskGroups.find(({ Name }) => Name === alloc.TaskGroup);
  return Object.values(group?.Volumes ?? {}).map((request) => ({ request, source: volumeSource(request, alloc.Name) }));
}

/** Name of the volume that the allocation of this name uses: with `per_alloc` the suffix from its last `[` on (VL-178). */
export function volumeSource(request: Pick<VolumeRequest, 'Source' | 'PerAlloc'>, allocName: string): string {
  if (!request.PerAlloc) return request.Source;
  const suffixAt = allocName.lastIndexOf('[');
  return suffixAt === -1 ? request.Source : `${request.Source}${allocName.slice(suffixAt)}`;
}
