import { type DynamicModule, Module } from '@nestjs/common';
import type { CsiHost } from './csi-host.js';
import { csiControllerOf } from './csi.controller.js';

@Module({})
export class CsiModule {
  static of(host: CsiHost): DynamicModule {
    return { module: CsiModule, controllers: [csiControllerOf(host)] };
  }
}
