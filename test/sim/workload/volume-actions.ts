import { deregisterVolumes, registerVolumes } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { PLUGIN_ID } from '../world/storage-provider.js';
import type { Actions } from './action.js';
import { NAMESPACE } from './chosen.js';
import { VOLUMES } from './job-shapes.js';

export const VOLUME_ACTIONS: Actions = {
  'register volume': [
    12,
    (api, _cluster, random) => {
      const [ID, AccessMode] = random.pick(Object.entries(VOLUMES));
      const uses = { RequestedCapabilities: [{ AccessMode, AttachmentMode: 'file-system' }], PluginID: PLUGIN_ID };
      const volume = fixtures.aVolumeRegistration({ ID, Name: ID, ExternalID: `disk of ${ID}`, ...uses });
      return api.command(registerVolumes, { Volumes: [volume] });
    },
  ],
  'deregister volume': [
    2,
    (api, _cluster, random) => {
      const VolumeIDs = [random.pick(Object.keys(VOLUMES))];
      return api.command(deregisterVolumes, { Namespace: NAMESPACE, VolumeIDs, Force: false });
    },
  ],
};
