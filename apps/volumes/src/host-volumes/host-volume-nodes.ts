import { type HostVolume, NotHolderError, errorText } from '@waybill/model';
import {
  type Call,
  type CreatedOnNode,
  createOnNode,
  deleteOnNode,
  type HostVolumeOnNode,
  registerOnNode,
  RpcError,
} from '@waybill/rpc';
import { VolumeStepError, codeBehind } from '../commands/errors.js';
import { type MachineCalls, NoPathError } from '../plugins/machine-calls.js';

/** A machine refused a request (VL-290) or could not be reached: it did nothing. */
export class NodeRefusedError extends VolumeStepError {
  constructor(
    doing: string,
    cause: unknown,
    readonly wasReached = !(cause instanceof NoPathError),
  ) {
    super(`HostVolume.${doing} error: ${errorText(cause)}`, codeBehind(cause));
  }
}

/** Requests to the machines of host volumes. Each may be repeated. */
export class HostVolumeNodes {
  constructor(private readonly machines: MachineCalls) {}

  /** @throws NodeRefusedError or NotHolderError if nothing was done, VolumeStepError if the outcome is unknown */
  create(volume: HostVolume): Promise<CreatedOnNode> {
    return this.callNode(createOnNode, 'Create', volume);
  }

  /** @throws as `create` */
  async register(volume: HostVolume): Promise<void> {
    await this.callNode(registerOnNode, 'Register', volume);
  }

  /** @throws as `create` */
  async delete(volume: HostVolume): Promise<void> {
    await this.callNode(deleteOnNode, 'Delete', volume);
  }

  private async callNode<Res>(call: Call<HostVolumeOnNode, Res>, doing: string, volume: HostVolume): Promise<Res> {
    try {
      return await this.machines.callMachine(call, volume.NodeID, onNode(volume));
    } catch (error) {
      if (error instanceof NotHolderError) throw error;
      if (error instanceof NoPathError || error instanceof RpcError) throw new NodeRefusedError(doing, error);
      throw new VolumeStepError(`HostVolume.${doing} error: ${errorText(error)}`);
    }
  }
}

const onNode = (volume: HostVolume): HostVolumeOnNode => ({
  Namespace: volume.Namespace,
  ID: volume.ID,
  Name: volume.Name,
  PluginID: volume.PluginID,
  NodePool: volume.NodePool,
  NodeID: volume.NodeID,
  RequestedCapacityMinBytes: volume.RequestedCapacityMinBytes,
  RequestedCapacityMaxBytes: volume.RequestedCapacityMaxBytes,
  Parameters: volume.Parameters,
  HostPath: volume.HostPath,
});
