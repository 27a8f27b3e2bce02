import { call } from './call.js';

/** Bytes of a file that one answer carries; whoever wants more asks again. */
export const MAX_FILE_CHUNK_BYTES = 256 * 1024;
/** Entries of a directory that one answer carries. */
export const MAX_LISTED_FILES = 1_000;

/** As clients see it. */
export interface AllocFileInfo {
  readonly Name: string;
  readonly IsDir: boolean;
  readonly Size: number;
  /** Ten characters, like `-rw-r--r--`. */
  readonly FileMode: string;
  /** RFC 3339. */
  readonly ModTime: string;
  /** Of files only. */
  readonly ContentType?: string;
}

/** Paths are inside the allocation's directory, which is `/`. */
export interface AllocFileRequest {
  readonly AllocID: string;
  readonly Path: string;
}
interface OfEndedAlloc extends AllocFileRequest {
  /** Refused as `conflict` while the allocation's tasks run there, whatever the servers know: they may still write. */
  readonly IfEnded?: boolean;
}
export interface ListFilesRequest extends OfEndedAlloc {
  /** Entries behind this name; empty: from the first. */
  readonly After: string;
}
export interface ListFilesResponse {
  /** By name. */
  readonly Files: AllocFileInfo[];
  readonly More: boolean;
}
export interface ReadFileRequest extends OfEndedAlloc {
  readonly Origin: 'start' | 'end';
  /** Bytes from the origin; with `end`, counted backwards. */
  readonly Offset: number;
  readonly Limit: number;
  /** Wait this long for new bytes when there are none. 0: answer at once. */
  readonly WaitMs: number;
}
export interface ReadFileResponse {
  /** base64 */
  readonly Data: string;
  /** Of the first byte given. */
  readonly Offset: number;
  /** `file deleted`: nothing more comes; `file truncated`: reading goes on at 0; else empty. */
  readonly FileEvent: '' | 'file deleted' | 'file truncated';
}

/** To one machine: the target is the node's id. */
export const listFiles = call<ListFilesRequest, ListFilesResponse>('agent.listFiles', { timeoutMs: 30_000 });
export const statFile = call<AllocFileRequest, AllocFileInfo>('agent.statFile', { timeoutMs: 30_000 });
export const readFile = call<ReadFileRequest, ReadFileResponse>('agent.readFile', { timeoutMs: 30_000 });

/** Of a FileMode: `-rwxr-x---` → 0o750; what a file cannot do without stays the owner's. */
export function modeOf(text: string): number {
  let mode = 0;
  for (const letter of text.slice(1, 10)) mode = mode * 2 + (letter === '-' ? 0 : 1);
  return mode | (text.startsWith('d') ? 0o700 : 0o400);
}
