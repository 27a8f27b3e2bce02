// Behaves as the public hostpath driver does where that differs from ours: names, options, and what it cannot do.
import { createHash } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import { capabilities, DirectoryPlugin, Refusal } from './directory-plugin.mjs';
import { isMounted } from './disks.mjs';

const TOPOLOGY_KEY = 'topology.hostpath.csi/node';
/** Without --enable-attach nothing is attached or detached. */
const UNIMPLEMENTED = new Set(['ControllerPublishVolume', 'ControllerUnpublishVolume']);

export class HostpathLikePlugin extends DirectoryPlugin {
  /** @type {Map<string, string>} by staging or target path */
  used = new Map();

  /** @param {string} method @param {any} request @returns {any} */
  answer(method, request) {
    if (UNIMPLEMENTED.has(method)) throw new Refusal(status.UNIMPLEMENTED, '');
    const topology = { segments: { [TOPOLOGY_KEY]: this.options.nodeId } };
    const place = request.target_path || request.staging_target_path;
    switch (method) {
      case 'GetPluginInfo':
        return { name: 'hostpath.csi.k8s.io', vendor_version: 'v1.9.0' };
      case 'GetPluginCapabilities':
        return {
          capabilities: ['CONTROLLER_SERVICE', 'VOLUME_ACCESSIBILITY_CONSTRAINTS', 'GROUP_CONTROLLER_SERVICE'].map(
            (type) => ({ service: { type } }),
          ),
        };
      case 'Probe':
        return {}; // ready, without a word
      case 'NodeGetInfo':
        return { node_id: this.options.nodeId, accessible_topology: topology };
      case 'NodeGetCapabilities':
        return capabilities('STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME', 'VOLUME_CONDITION', 'SINGLE_NODE_MULTI_WRITER');
      case 'ControllerGetCapabilities':
        return capabilities('CREATE_DELETE_VOLUME', 'LIST_VOLUMES', 'GET_VOLUME', 'EXPAND_VOLUME', 'VOLUME_CONDITION');
      case 'CreateVolume': {
        const id = uuidOf(request.name);
        const bytes = request.capacity_range?.required_bytes ?? '0';
        if (!this.disks.find(id)) this.disks.add({ id, name: request.name, bytes });
        const volume = { volume_id: id, capacity_bytes: bytes, volume_context: request.parameters };
        return { volume: { ...volume, accessible_topology: [topology] } };
      }
      case 'DeleteVolume':
        for (const [path, disk] of this.used)
          if (disk === request.volume_id && isMounted(path))
            throw new Refusal(status.FAILED_PRECONDITION, 'volume is still used');
        return super.answer(method, request);
      case 'NodeStageVolume':
      case 'NodePublishVolume':
        if (!request.staging_target_path) throw new Refusal(status.INVALID_ARGUMENT, 'Staging target path missing');
        if (!request.volume_capability) throw new Refusal(status.INVALID_ARGUMENT, 'Volume capability missing');
        this.used.set(place, request.volume_id);
        return super.answer(method, request);
      default:
        return super.answer(method, request);
    }
  }
}

/** @param {string} name */
function uuidOf(name) {
  const hex = createHash('sha256').update(name).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}
