import { agent } from '@waybill/agent';
import { api } from '@waybill/api';
import { broker } from '@waybill/broker';
import { deployments } from '@waybill/deployments';
import { nodes } from '@waybill/nodes';
import { projector } from '@waybill/projector';
import { scheduler } from '@waybill/scheduler';
import type { ServiceDefinition } from '@waybill/service';
import { volumes } from '@waybill/volumes';
import type { ServiceName } from './service-names.js';

/** SERVICES has the definition of each service. Importing it loads the code of all services. */
export const SERVICES: Readonly<Record<ServiceName, ServiceDefinition>> = {
  projector,
  broker,
  scheduler,
  nodes,
  deployments,
  volumes,
  api,
  agent,
};
