import { call } from './call.js';
import { needsOfAlloc } from './user-needs.js';

/** Most bytes of output in base64 in one response, apart from its last piece. */
export const MAX_EXEC_CHUNK_BYTES = 64 * 1024;
/** Most bytes of input in one call. */
export const MAX_EXEC_INPUT_BYTES = 64 * 1024;

/** Runs a command in a task of one machine (AG-277). The session ends when its output is no longer read. */
export interface ExecStartRequest {
  readonly AllocID: string;
  readonly Task: string;
  readonly Command: readonly string[];
  readonly Tty: boolean;
}
export interface ExecStartResponse {
  readonly SessionID: string;
}
export interface ExecReadRequest {
  readonly SessionID: string;
}
export interface ExecOutputChunk {
  readonly Stream: 'stdout' | 'stderr';
  /** In base64. */
  readonly Data: string;
}
export interface ExecReadResponse {
  /** Empty if there was no output for a while. */
  readonly Chunks: readonly ExecOutputChunk[];
  /** Null while the command runs. Otherwise all output has been returned, and the session has ended. */
  readonly ExitCode: number | null;
}
export interface ExecWriteRequest {
  readonly SessionID: string;
  /** In base64. Empty for no input. */
  readonly Data: string;
  /** Whether this is the end of the input. */
  readonly Close: boolean;
  readonly Size: { readonly Height: number; readonly Width: number } | null;
}
export interface ExecEndRequest {
  readonly SessionID: string;
}

export const execStart = call<ExecStartRequest, ExecStartResponse>('agent.execStart', {
  timeoutMs: 15_000,
  userNeeds: needsOfAlloc('alloc-exec'),
});
export const execRead = call<ExecReadRequest, ExecReadResponse>('agent.execRead', { timeoutMs: 15_000 });
/** Its timeout is long, because a command that does not read holds up its writer. */
export const execWrite = call<ExecWriteRequest, null>('agent.execWrite', { timeoutMs: 600_000 });
export const execEnd = call<ExecEndRequest, null>('agent.execEnd');
