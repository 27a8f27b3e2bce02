import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { HostVolumeWritesController } from './host-volume-writes.controller.js';
import { HostVolumesController } from './host-volumes.controller.js';
import { PluginsController } from './plugins.controller.js';
import { ProviderController } from './provider.controller.js';
import { VolumeLists } from './volume-lists.js';
import { VolumeWritesController } from './volume-writes.controller.js';
import { VolumesController } from './volumes.controller.js';

/** VolumesModule has CSI volumes, storage plugins and host volumes. */
@Module({
  controllers: [
    VolumesController,
    VolumeWritesController,
    ProviderController,
    PluginsController,
    HostVolumesController,
    HostVolumeWritesController,
  ],
  providers: [made(VolumeLists, ({ model, reads }) => new VolumeLists(model, reads))],
})
export class VolumesModule {}
