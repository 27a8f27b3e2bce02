/**
 * SERVICE_NAMES lists all services in the order of their start. They stop in the reverse order, so the agent ends its
 * tasks while others can still receive its reports, and the projector stops last. The file has only names, so code that
 * starts processes need not load the services.
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
