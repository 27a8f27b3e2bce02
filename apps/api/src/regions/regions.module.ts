import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { RegionForwarding } from './forwarding.transport.js';

@Module({
  providers: [made(RegionForwarding, ({ forwarding }) => forwarding)],
  exports: [RegionForwarding],
})
export class RegionsModule {}
