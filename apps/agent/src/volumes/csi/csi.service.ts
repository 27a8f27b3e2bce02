import { emitNodeEvents } from '@waybill/rpc';
import type { ServiceContext } from '@waybill/service';
import type { Driver } from '../../drivers/driver.js';
import type { TaskHookParts } from '../../tasks/task-hooks.service.js';
import { JsonListFile } from '../../durable-files/json-list.store.js';
import type { Caller } from '../../machine/identity/caller.js';
import type { LocalNode } from '../../machine/node/local-node.js';
import { NodeEvents } from '../../contact/node-events.js';
import { CsiHost } from './csi-host.js';
import { mountPlaces } from './mount-places.store.js';
import { serversClaims } from './volume-claims.js';
import { below } from '../../paths/path-name.js';

/** Returns the events of this machine. They are sent to the servers with its own identity. */
export function nodeEventsOf({ rpc, clock, timers, logger }: ServiceContext, caller: Caller): NodeEvents {
  return new NodeEvents({
    send: (Events) => {
      const { ID: NodeID, SecretID } = caller();
      return rpc.ask(emitNodeEvents, { NodeID, SecretID, Events });
    },
    clock,
    timers,
    logger,
  });
}

/** Returns the CSI host of this machine. Its directory is `<agent directory>/csi`. */
export function csiHostOf(
  context: ServiceContext,
  dir: string,
  { node, caller, events }: { readonly node: LocalNode; readonly caller: Caller; readonly events: NodeEvents },
): CsiHost {
  const { rpc, clock, timers, logger, settings } = context;
  const csiDir = below(dir, 'csi');
  return new CsiHost({
    csiDir,
    region: settings.WAYBILL_REGION,
    registrations: new JsonListFile(below(csiDir, 'registry.json')),
    leftMounts: new JsonListFile(below(csiDir, 'left-mounts.json')),
    places: mountPlaces,
    claims: serversClaims(rpc, caller),
    node,
    emit: (event) => events.emit(event),
    clock,
    timers,
    logger,
  });
}

/** Returns the dependencies of the hooks for plugins and for users of volumes. */
export function volumeHookParts(
  csi: CsiHost,
  node: LocalNode,
  drivers: ReadonlyMap<string, Driver>,
): Required<Pick<TaskHookParts, 'csiPlugins' | 'volumes'>> {
  const mountSupport = (driver: string) => drivers.get(driver)?.mounts ?? 'none';
  return {
    csiPlugins: {
      placesOf: (allocId, config) => csi.placesOf(allocId, config),
      mountSupport,
      directories: mountPlaces,
    },
    volumes: {
      node: () => node.current,
      mountSupport,
      mountOf: (allocId, alias) => csi.mountOf(allocId, alias),
    },
  };
}
