import { wire } from '@waybill/model';
import type { SnapshotSpecification } from '@waybill/rpc';

const { list, map, object, string } = wire;

const SNAPSHOT: wire.Shape<SnapshotSpecification> = {
  name: 'CSISnapshot',
  fields: {
    SourceVolumeID: string(),
    PluginID: string(),
    Name: string(),
    Secrets: map(string()),
    Parameters: map(string()),
  },
};
const REQUEST: wire.Shape<{ Snapshots: (SnapshotSpecification | null)[] | null }> = {
  name: 'CSISnapshotCreateRequest',
  fields: { Snapshots: list(object(SNAPSHOT)) },
};

/** @throws Refusal, DecodeError */
export const readSnapshots = (json: unknown): (SnapshotSpecification | null)[] =>
  wire.decodeShape(REQUEST, json).Snapshots ?? [];
