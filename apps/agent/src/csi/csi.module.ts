import { type DynamicModule, Module } from '@nestjs/common';
import { ControllerCalls } from './controller-calls.js';
import type { CsiHost } from './csi-host.js';
import { CsiController } from './csi.controller.js';
import { NodeCalls } from './node-calls.js';

@Module({})
export class CsiModule {
  static of(host: CsiHost): DynamicModule {
    return {
      module: CsiModule,
      controllers: [CsiController],
      providers: [
        { provide: ControllerCalls, useValue: new ControllerCalls(host) },
        { provide: NodeCalls, useValue: new NodeCalls(host) },
      ],
    };
  }
}
