import { errorText } from '@waybill/model';
import { isUnreachable, RpcError } from '@waybill/rpc';

/** RegionAnswers has the answers of regions that were asked at once. */
export interface RegionAnswers<T> {
  readonly values: readonly T[];
  /** The errors of the regions that failed, each with the region's name. */
  readonly errors: readonly string[];
}

export async function inEachRegion<T>(
  regions: readonly string[],
  ask: (region: string) => Promise<T>,
): Promise<RegionAnswers<T>> {
  const asked = await Promise.allSettled(regions.map((region) => ask(region)));
  return {
    values: asked.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : [])),
    errors: asked.flatMap((outcome, i) =>
      outcome.status === 'rejected' ? [regionErrorText(regions[i] ?? '', outcome.reason)] : [],
    ),
  };
}

function regionErrorText(region: string, error: unknown): string {
  if (isUnreachable(error)) return `region "${region}" cannot be reached`;
  const text = errorText(error);
  return error instanceof RpcError ? `region "${region}": ${text}` : `region "${region}" failed: ${text}`;
}
