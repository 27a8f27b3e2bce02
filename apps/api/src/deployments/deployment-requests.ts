import { badRequest } from '../http/api-error.js';
import { asObject, boolOf, intOf, stringOf, stringsOf, type JsonObject } from '../http/json-members.js';

/**
 * Reads the body of a write on a deployment. The body names the deployment too (API-210, DP-1202). @throws Refusal
 * invalid, DecodeError
 */
function bodyFor(pathId: string, json: unknown, what: string): JsonObject {
  const body = asObject(json, what);
  const id = stringOf(body, 'DeploymentID');
  if (id === '') throw badRequest('DeploymentID must be specified');
  if (id !== pathId) throw badRequest('Deployment ID does not match');
  return body;
}

export function readPauseRequest(pathId: string, json: unknown) {
  return { Pause: boolOf(bodyFor(pathId, json, 'DeploymentPauseRequest'), 'Pause') };
}

export function readPromoteRequest(pathId: string, json: unknown) {
  const body = bodyFor(pathId, json, 'DeploymentPromoteRequest');
  return { All: boolOf(body, 'All'), Groups: stringsOf(body, 'Groups'), PromotedAt: intOf(body, 'PromotedAt') };
}

export function readAllocHealthRequest(pathId: string, json: unknown) {
  const body = bodyFor(pathId, json, 'DeploymentAllocHealthRequest');
  return {
    HealthyAllocationIDs: stringsOf(body, 'HealthyAllocationIDs'),
    UnhealthyAllocationIDs: stringsOf(body, 'UnhealthyAllocationIDs'),
  };
}

export function readUnblockRequest(pathId: string, json: unknown): void {
  bodyFor(pathId, json, 'DeploymentUnblockRequest');
}
