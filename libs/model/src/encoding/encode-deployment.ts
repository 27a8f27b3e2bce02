import type { Deployment } from '../evaluations/deployment.js';
import type { WireObject } from './wire-object.js';

/** Encodes a deployment for clients: every field except those that only regions exchange. */
export function encodeDeployment(deployment: Deployment): WireObject {
  const { HasRun: _, Registration: __, ...shown } = deployment;
  return shown;
}
