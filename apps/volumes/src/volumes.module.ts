import { Module } from '@nestjs/common';
import { NodeIdentityCheck, type ServiceDefinition } from '@waybill/service';
import { tracerFor } from '@waybill/telemetry';
import { ClaimsController } from './claims.controller.js';
import { HostVolumesController } from './host-volumes/host-volumes.controller.js';
import { VolumesController } from './volumes.controller.js';
import { VolumesHolder } from './volumes-holder.js';

@Module({})
class VolumesModule {}

/** The service for claims and all calls to volume plugins, under the lease `volumes`. */
export const volumes: ServiceDefinition = {
  name: 'volumes',
  needs: { state: true, database: false },
  build: (context) => {
    const { state, rpc, clock, timers, newId, logger, settings } = context;
    const holder = new VolumesHolder({
      state,
      rpc,
      clock,
      timers,
      newId,
      logger,
      tracer: () => tracerFor('volumes'),
      region: settings.WAYBILL_REGION,
    });
    return {
      module: {
        module: VolumesModule,
        controllers: [ClaimsController, VolumesController, HostVolumesController],
        providers: [
          { provide: VolumesHolder, useValue: holder },
          { provide: NodeIdentityCheck, useValue: new NodeIdentityCheck({ state, clock, timers }) },
        ],
      },
      singleton: holder,
    };
  },
};
