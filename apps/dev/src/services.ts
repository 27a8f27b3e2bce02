import { agent } from '@waybill/agent';
import { api } from '@waybill/api';
import { broker } from '@waybill/broker';
import { deployments } from '@waybill/deployments';
import { nodes } from '@waybill/nodes';
import { projector } from '@waybill/projector';
import { scheduler } from '@waybill/scheduler';
import type { ServiceDefinition } from '@waybill/service';
import { volumes } from '@waybill/volumes';

/** All services, in the order they start; they stop the other way round. */
export const SERVICES: readonly ServiceDefinition[] = [
  projector,
  broker,
  scheduler,
  nodes,
  deployments,
  volumes,
  api,
  agent,
];
