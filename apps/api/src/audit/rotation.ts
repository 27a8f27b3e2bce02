import path from 'node:path';

/**
 * RotationRules says when the file of the audit log is rotated, and how many old files stay (AU-279). 0 stands for
 * never, and for all of them.
 */
export interface RotationRules {
  readonly bytes: number;
  readonly ageMs: number;
  readonly files: number;
}

export interface OpenFile {
  readonly bytes: number;
  /** The time when its first record was written, in Unix milliseconds. */
  readonly bornMs: number;
}

/** Says whether a file is rotated before `adding` bytes are written. An empty file never is. */
export function isRotationDue(file: OpenFile, rules: RotationRules, adding: number, nowMs: number): boolean {
  if (file.bytes === 0) return false;
  const isFull = rules.bytes > 0 && file.bytes + adding > rules.bytes;
  return isFull || (rules.ageMs > 0 && nowMs - file.bornMs >= rules.ageMs);
}

/** Returns the path of a rotated file: the time in Unix nanoseconds stands before its extension. */
export function rotatedPath(file: string, nowNs: bigint): string {
  const { dir, name, ext } = path.parse(file);
  return path.join(dir, `${name}-${nowNs}${ext}`);
}

/** Returns the rotated files among `names`, the newest first. */
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
