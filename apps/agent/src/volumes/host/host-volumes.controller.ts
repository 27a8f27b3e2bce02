import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import {
  Answers,
  type CreatedOnNode,
  createOnNode,
  deleteOnNode,
  type HostVolumeOnNode,
  registerOnNode,
  RpcError,
} from '@waybill/rpc';
import { HostVolumeRefusal } from './host-volume-plugin.js';
import { HostVolumes } from './host-volumes.js';

/** Answers the servers' calls about the host volumes of this machine. */
@Controller()
export class HostVolumesController {
  constructor(private readonly volumes: HostVolumes) {}

  @Answers(createOnNode)
  create(@Payload() volume: HostVolumeOnNode): Promise<CreatedOnNode> {
    return withRpcErrors(() => this.volumes.create(volume));
  }

  @Answers(registerOnNode)
  async register(@Payload() volume: HostVolumeOnNode): Promise<null> {
    await withRpcErrors(() => this.volumes.register(volume));
    return null;
  }

  @Answers(deleteOnNode)
  async delete(@Payload() volume: HostVolumeOnNode): Promise<null> {
    await withRpcErrors(() => this.volumes.delete(volume));
    return null;
  }
}

/** Converts refusals, because they are not errors of this process. @throws RpcError, and unexpected errors */
async function withRpcErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof HostVolumeRefusal ? new RpcError('conflict', error.message) : error;
  }
}
