import type { Deployment } from '@waybill/model';
import type { Answer, ApiClient } from '../server/api-client.js';
import { deploymentTable } from './deployment-table.js';
import type { Display } from '../terminal/display.js';
import { CommandFailure } from '../failure.js';

const UUID_LENGTH = 36;

/** Finds the deployment with this ID prefix (DP-1702). @throws CommandFailure, and errors of the API client */
export async function resolveDeployment(api: ApiClient, given: string, display: Display): Promise<Answer<Deployment>> {
  if (given.length === UUID_LENGTH) return api.get<Deployment>(`/v1/deployment/${given}`);
  const digits = given.replaceAll('-', '');
  if (digits.length < 2) throw new CommandFailure('Identifier must contain at least two characters.');
  const prefix = digits.length % 2 === 1 ? digits.slice(0, -1) : digits;
  const { value } = await api.get<Deployment[] | null>('/v1/deployments', { prefix });
  const [first, ...others] = value ?? [];
  if (!first) throw new CommandFailure(`Deployment ID "${given}" matched no deployments`);
  if (others.length > 0)
    throw new CommandFailure(`Prefix matched multiple deployments\n\n${deploymentTable([first, ...others], display)}`);
  return api.get<Deployment>(`/v1/deployment/${first.ID}`);
}
