import type { TaskGroupHostVolumeClaim } from '@waybill/model';
import type { Call } from '../command-spec.js';
import type { Display } from '../terminal/display.js';
import type { ExactJson } from '../terminal/exact-json.js';
import { failed } from '../failure.js';
import { table } from '../terminal/table.js';

/** Lists claims on host volumes (CL-713). */
export const volumeClaimTable = (claims: readonly TaskGroupHostVolumeClaim[], display: Display): string =>
  table([
    ['ID', 'Namespace', 'Job ID', 'Volume ID', 'Volume Name'],
    ...claims.map((one) => [display.id(one.ID), one.Namespace, one.JobID, display.id(one.VolumeID), one.VolumeName]),
  ]);

/** Reads the claims of task groups on host volumes. @throws CommandFailure */
export async function volumeClaims(
  { api }: Pick<Call, 'api'>,
  query: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly value: readonly TaskGroupHostVolumeClaim[]; readonly exact: ExactJson }> {
  const { value, exact } = await api
    .get<TaskGroupHostVolumeClaim[] | null>('/v1/volumes/claims', query)
    .catch((error: unknown) => {
      throw failed('querying task group host volume claims', error);
    });
  return { value: value ?? [], exact };
}
