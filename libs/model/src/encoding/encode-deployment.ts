import type { Deployment } from '../evaluations/deployment.js';
import type { WireObject } from './wire-object.js';

/** Deployments are plain: every field is shown but what only regions tell each other. */
export function encodeDeployment(deployment: Deployment): WireObject {
  const { HasRun: _, Registration: __, ...shown } = deployment;
  return shown;
}
