import type { Stats } from 'node:fs';
import path from 'node:path';
import type { AllocFileInfo } from '@waybill/rpc';

/** The number of bytes that distinguish text from other contents. */
export const SNIFFED_BYTES = 512;

/** Returns the attributes of a file. @param head the beginning of a regular file; undefined for other kinds */
export function fileInfo(name: string, stats: Stats, head: Buffer | undefined): AllocFileInfo {
  return {
    Name: path.basename(name),
    IsDir: stats.isDirectory(),
    Size: stats.size,
    FileMode: modeText(stats),
    ModTime: stats.mtime.toISOString(),
    ...(head && { ContentType: contentType(head) }),
  };
}

/** Returns a content type that no browser would run (API-79). */
export function contentType(head: Buffer): string {
  if (head.includes(0)) return 'application/octet-stream';
  // A character that is cut off at the end does not count as binary.
  const text = new TextDecoder('utf-8').decode(head, { stream: true });
  return text.includes('\ufffd') ? 'application/octet-stream' : 'text/plain; charset=utf-8';
}

function modeText(stats: Stats): string {
  let text = kindOf(stats);
  for (const shift of [6, 3, 0]) {
    const bits = stats.mode >> shift;
    text += (bits & 4 ? 'r' : '-') + (bits & 2 ? 'w' : '-') + (bits & 1 ? 'x' : '-');
  }
  return text;
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'd';
  if (stats.isSymbolicLink()) return 'L';
  if (stats.isFIFO()) return 'p';
  if (stats.isSocket()) return 'S';
  return stats.isFile() ? '-' : 'D';
}
