import path from 'node:path';

/** When the file of the audit log is put aside, and how many old ones stay (AU-279). 0: never; all of them. */
export interface RotationRules {
  readonly bytes: number;
  readonly ageMs: number;
  readonly files: number;
}

export interface OpenFile {
  readonly bytes: number;
  /** When its first record was written, unix ms. */
  readonly bornMs: number;
}

/** Whether a file is put aside before `adding` bytes are written. An empty one never is. */
export function isRotationDue(file: OpenFile, rules: RotationRules, adding: number, nowMs: number): boolean {
  if (file.bytes === 0) return false;
  const isFull = rules.bytes > 0 && file.bytes + adding > rules.bytes;
  return isFull || (rules.ageMs > 0 && nowMs - file.bornMs >= rules.ageMs);
}

/** Where a file is put: the time before its extension, in unix nanoseconds. */
export function rotatedPath(file: string, nowNs: bigint): string {
  const { dir, name, ext } = path.parse(file);
  return path.join(dir, `${name}-${nowNs}${ext}`);
}

/** The files among `names` that were put aside, the newest first. */
export function rotatedFiles(file: string, names: readonly string[]): string[] {
  const { name, ext } = path.parse(file);
  const timeOf = (one: string): bigint | undefined => {
    if (!one.startsWith(`${name}-`) || !one.endsWith(ext)) return undefined;
    const digits = one.slice(name.length + 1, one.length - ext.length);
    return /^\d{1,20}$/.test(digits) ? BigInt(digits) : undefined;
  };
  return names
    .flatMap((one) => {
      const time = timeOf(one);
      return time === undefined ? [] : [{ one, time }];
    })
    .toSorted((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
    .map(({ one }) => one);
}

/** The files that go. @param keep 0: none */
export const surplusFiles = (rotated: readonly string[], keep: number): readonly string[] =>
  keep === 0 ? [] : rotated.slice(keep);
