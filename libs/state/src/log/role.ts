/** The roles that are held by lease; a holder's transactions are fenced by its epoch (ST-15). */
export const ROLES = ['broker', 'nodes', 'deployments', 'volumes', 'projector'] as const;
export type Role = (typeof ROLES)[number];
