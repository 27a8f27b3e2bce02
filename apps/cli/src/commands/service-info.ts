import type { ServiceRegistration } from '@waybill/model';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import type { ServerCommand } from '../command-spec.js';
import { LIST_FLAGS, printPage } from '../flags/pagination.js';
import { NO_SERVICES, serviceTable } from '../service-table.js';

/** Lists the registrations of a service (CL-861). */
export const command: ServerCommand = {
  usage: '<service>',
  description: 'Shows the addresses of a service.',
  flags: [...LIST_FLAGS, VERBOSE_FLAG, ...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <service_name>' },
  run: (call) =>
    printPage<ServiceRegistration>(call, {
      path: `/v1/service/${encodeURIComponent(call.args[0] ?? '')}`,
      doing: 'listing service registrations',
      none: NO_SERVICES,
      tableOf: (services) => serviceTable(services, Display.of(call)),
    }),
};
