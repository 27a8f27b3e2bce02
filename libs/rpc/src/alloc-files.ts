import { call } from './call.js';
import { needsOfAlloc, replacesAllocOf } from './user-needs.js';

/** Most bytes of a file in one response. A caller continues with another read. */
export const MAX_FILE_CHUNK_BYTES = 256 * 1024;
/** Most entries of a directory in one response. */
export const MAX_LISTED_FILES = 1_000;

/** A file in the form for clients. */
export interface AllocFileInfo {
  readonly Name: string;
  readonly IsDir: boolean;
  readonly Size: number;
  /** Ten characters, such as `-rw-r--r--`. */
  readonly FileMode: string;
  /** In RFC 3339. */
  readonly ModTime: string;
  /** Set for files only. */
  readonly ContentType?: string;
}

/** Paths start at the allocation's directory, `/`. */
export interface AllocFileRequest {
  readonly AllocID: string;
  readonly Path: string;
}
interface OfEndedAlloc extends AllocFileRequest {
  /**
   * Refuse with `conflict` while tasks of the allocation run on the machine, because they may still write. The servers
   * may not know that.
   */
  readonly IfEnded?: boolean;
}
export interface ListFilesRequest extends OfEndedAlloc {
  /** Return entries after this name. Empty for the first ones. */
  readonly After: string;
}
export interface ListFilesResponse {
  /** Sorted by name. */
  readonly Files: AllocFileInfo[];
  readonly More: boolean;
}
export interface ReadFileRequest extends OfEndedAlloc {
  readonly Origin: 'start' | 'end';
  /** Bytes from the origin. With `end`, they are counted backwards. */
  readonly Offset: number;
  readonly Limit: number;
  /** Longest wait for new bytes, in ms. 0 returns at once. */
  readonly WaitMs: number;
}
export interface ReadFileResponse {
  /** In base64. */
  readonly Data: string;
  /** Offset of the first returned byte. */
  readonly Offset: number;
  /** `file deleted` if no more bytes will come, `file truncated` if reading continues at 0, otherwise empty. */
  readonly FileEvent: '' | 'file deleted' | 'file truncated';
}

/** Goes to one machine: the target is the node's ID. */
const READ_FILES = { timeoutMs: 30_000, userNeeds: needsOfAlloc('read-fs') };
const READ_DISK = { ...READ_FILES, admitsNode: replacesAllocOf };
export const listFiles = call<ListFilesRequest, ListFilesResponse>('agent.listFiles', READ_DISK);
export const statFile = call<AllocFileRequest, AllocFileInfo>('agent.statFile', READ_FILES);
export const readFile = call<ReadFileRequest, ReadFileResponse>('agent.readFile', READ_DISK);

/** Parses a FileMode: `-rwxr-x---` becomes 0o750. The permissions that the owner needs are always set. */
export function modeOf(text: string): number {
  let mode = 0;
  for (const letter of text.slice(1, 10)) mode = mode * 2 + (letter === '-' ? 0 : 1);
  return mode | (text.startsWith('d') ? 0o700 : 0o400);
}
