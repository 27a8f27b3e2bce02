import { type DynamicModule, Module } from '@nestjs/common';
import { LocalNode } from '../node/local-node.js';
import { NodeMetaController } from './node-meta.controller.js';
import { NodeMeta } from './node-meta.js';

@Module({})
export class NodeMetaModule {
  static of(meta: NodeMeta, node: LocalNode): DynamicModule {
    return {
      module: NodeMetaModule,
      controllers: [NodeMetaController],
      providers: [
        { provide: NodeMeta, useValue: meta },
        { provide: LocalNode, useValue: node },
      ],
    };
  }
}
