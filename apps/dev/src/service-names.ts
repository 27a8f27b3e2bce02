/**
 * All services, in the order they are listed; they stop the other way round, so the agent ends its tasks while there is
 * still somebody to tell, and the projector goes last. Names only: whoever starts processes need not load their code.
 */
export const SERVICE_NAMES = [
  'projector',
  'broker',
  'scheduler',
  'nodes',
  'deployments',
  'volumes',
  'api',
  'agent',
] as const;

export type ServiceName = (typeof SERVICE_NAMES)[number];
