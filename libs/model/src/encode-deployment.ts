import type { Deployment } from './deployment.js';
import type { WireObject } from './wire-object.js';

/** Deployments are plain: every field is shown. */
export function encodeDeployment(deployment: Deployment): WireObject {
  return { ...deployment };
}
