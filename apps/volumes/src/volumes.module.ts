import { Module } from '@nestjs/common';
import type { ServiceDefinition } from '@waybill/service';
import { VolumeClaims } from './volume-claims.js';

@Module({})
class VolumesModule {}

/** Claims and every call to volume plugins, under the lease `volumes`. */
export const volumes: ServiceDefinition = {
  name: 'volumes',
  needs: { state: true, database: false },
  build: () => ({ module: { module: VolumesModule }, singleton: new VolumeClaims() }),
};
