import { errorText } from '@waybill/model';
import { isUnreachable, RpcError } from '@waybill/rpc';

/** What regions that were asked at once have answered. */
export interface RegionAnswers<T> {
  readonly values: readonly T[];
  /** One text for each that failed, with its name. */
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
      outcome.status === 'rejected' ? [saidBy(regions[i] ?? '', outcome.reason)] : [],
    ),
  };
}

function saidBy(region: string, error: unknown): string {
  if (isUnreachable(error)) return `region "${region}" cannot be reached`;
  const text = errorText(error);
  return error instanceof RpcError ? `region "${region}": ${text}` : `region "${region}" failed: ${text}`;
}
