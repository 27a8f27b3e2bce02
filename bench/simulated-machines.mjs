// Machines with real agents and mock tasks in the benchmark's own process.
import { DEFAULT_FLEET, SimulatedFleet } from '@waybill/agent';
import { newUuid, systemClock, systemTimers } from '@waybill/service';
import { silentLogger, tracerFor } from '@waybill/telemetry';

/** @param {import('@waybill/rpc').Rpc} rpc @param {Partial<import('@waybill/agent').FleetOptions>} options */
export function fleetOf(rpc, options) {
  return new SimulatedFleet(
    {
      rpc,
      clock: systemClock,
      timers: systemTimers,
      newId: newUuid,
      random: Math.random,
      logger: silentLogger,
      tracer: () => tracerFor('bench'),
      region: 'global',
    },
    { ...DEFAULT_FLEET, ...options },
  );
}
