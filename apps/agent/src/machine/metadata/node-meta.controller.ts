import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import {
  Answers,
  applyNodeMeta,
  type ApplyNodeMetaRequest,
  type NodeMetaResponse,
  readNodeMeta,
  RpcError,
} from '@waybill/rpc';
import { LocalNode } from '../node/local-node.js';
import { InvalidMetaError, NodeMeta } from './node-meta.js';

/** Answers calls about the metadata of this machine (AG-27). */
@Controller()
export class NodeMetaController {
  constructor(
    private readonly meta: NodeMeta,
    private readonly node: LocalNode,
  ) {}

  @Answers(readNodeMeta)
  readMeta(): NodeMetaResponse {
    return this.meta.readMeta();
  }

  @Answers(applyNodeMeta)
  async apply(@Payload() { Meta }: ApplyNodeMetaRequest): Promise<NodeMetaResponse> {
    try {
      const applied = await this.meta.apply(Meta);
      this.node.meta(applied.Meta);
      return applied;
    } catch (error) {
      if (error instanceof InvalidMetaError) throw new RpcError('invalid', error.message);
      throw error;
    }
  }
}
