import type { ScalingEvent } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import { failed } from '../failure.js';
import { jobPath } from './resolve-job.js';

export interface ScaleStatus {
  readonly TaskGroups: Readonly<Record<string, { readonly Events: readonly ScalingEvent[] | null }>> | null;
}

/** Reads the scale of a job's groups and their scaling events. @throws CommandFailure */
export async function readScaleStatus(api: ApiClient, id: string): Promise<ScaleStatus> {
  const answer = await api.get<ScaleStatus>(jobPath(id, '/scale')).catch((error: unknown) => {
    throw failed('querying job', error);
  });
  return answer.value;
}
