import { type DynamicModule, Module } from '@nestjs/common';
import { HostVolumesController } from './host-volumes.controller.js';
import { HostVolumes } from './host-volumes.js';

@Module({})
export class HostVolumesModule {
  static of(volumes: HostVolumes): DynamicModule {
    return {
      module: HostVolumesModule,
      controllers: [HostVolumesController],
      providers: [{ provide: HostVolumes, useValue: volumes }],
    };
  }
}
