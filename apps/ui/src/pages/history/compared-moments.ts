export interface ComparedMoments {
  /** The index of the older state; undefined if there is none. */
  readonly from: number | undefined;
  readonly to: number | undefined;
}

/** Reads which two states are compared from an address: by default the newest with the one before. */
export function momentsOf(
  indexes: readonly number[],
  address: { readonly from?: string; readonly to?: string },
): ComparedMoments {
  const to = indexOf(address.to) ?? indexes[0];
  const from = indexOf(address.from) ?? indexes.find((index) => to !== undefined && index < to);
  return { from, to };
}

const indexOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
