import type { HostVolume } from '@waybill/model';
import { createHostVolume, deleteHostVolume } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { DIRECTORY_PLUGIN } from '../world/volume-directories.js';
import type { Actions } from './action.js';
import { chosenHostVolume, NAMESPACE } from './chosen.js';
import { MADE_HOST_VOLUME } from './job-shapes.js';

/** More would be of no use to the jobs. */
const MAX_HOST_VOLUMES = 4;

const specification = (over: Partial<HostVolume>): HostVolume =>
  fixtures.aHostVolume({
    Name: MADE_HOST_VOLUME,
    PluginID: DIRECTORY_PLUGIN,
    RequestedCapabilities: [{ AttachmentMode: 'file-system', AccessMode: 'single-node-multi-writer' }],
    ID: '',
    NodeID: '',
    HostPath: '',
    ...over,
  });

export const HOST_VOLUME_ACTIONS: Actions = {
  'create host volume': [
    8,
    (api, cluster, random) => {
      const stored = random.chance(0.3) ? chosenHostVolume(cluster, random) : undefined;
      if (!stored && cluster.tables.host_volumes.size >= MAX_HOST_VOLUMES) return undefined;
      const { ID = '', NodeID = '', HostPath = '' } = stored ?? {};
      return api.command(createHostVolume, { Volume: specification({ ID, NodeID, HostPath }) });
    },
  ],
  'delete host volume': [
    4,
    (api, cluster, random) => {
      const volume = chosenHostVolume(cluster, random);
      return volume && api.command(deleteHostVolume, { Namespace: NAMESPACE, VolumeID: volume.ID, Force: false });
    },
  ],
};
