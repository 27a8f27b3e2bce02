import type { ServiceRegistration } from '@waybill/model';
import type { Display } from './terminal/display.js';
import { keyValues, table } from './terminal/table.js';

export const NO_SERVICES = 'No service registrations found';

/** Shows the registrations of one service (CL-861): a table, or all details with `-verbose`. */
export function serviceTable(services: readonly ServiceRegistration[], display: Display): string {
  const sorted = services.toSorted((a, b) => (a.JobID < b.JobID ? -1 : a.JobID > b.JobID ? 1 : 0));
  if (display.verbose) return sorted.map((service) => `${inFull(service)}\n`).join('\n');
  return table([
    ['Job ID', 'Address', 'Tags', 'Node ID', 'Alloc ID'],
    ...sorted.map((service) => [
      service.JobID,
      addressOf(service),
      tagsOf(service),
      display.id(service.NodeID),
      display.id(service.AllocID),
    ]),
  ]);
}

const inFull = (service: ServiceRegistration): string =>
  keyValues([
    ['ID', service.ID],
    ['Service Name', service.ServiceName],
    ['Namespace', service.Namespace],
    ['Job ID', service.JobID],
    ['Alloc ID', service.AllocID],
    ['Node ID', service.NodeID],
    ['Datacenter', service.Datacenter],
    ['Address', addressOf(service)],
    ['Tags', tagsOf(service)],
  ]);

function addressOf({ Address, Port }: ServiceRegistration): string {
  if (Port === 0) return Address;
  return `${Address.includes(':') ? `[${Address}]` : Address}:${Port}`;
}

const tagsOf = ({ Tags }: ServiceRegistration): string => `[${(Tags ?? []).join(',')}]`;
