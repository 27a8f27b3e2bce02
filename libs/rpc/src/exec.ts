import { call } from './call.js';

/** Of output, as base64, that one answer carries at most, but for its last piece. */
export const MAX_EXEC_CHUNK_BYTES = 64 * 1024;
/** Of input in one call. */
export const MAX_EXEC_INPUT_BYTES = 64 * 1024;

/** Runs a command in a task of one machine (AG-277). The session lives as long as somebody reads it. */
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
  /** base64 */
  readonly Data: string;
}
export interface ExecReadResponse {
  /** Empty: nothing came for a while. */
  readonly Chunks: readonly ExecOutputChunk[];
  /** null: it runs. Otherwise all output was given before, and the session has ended. */
  readonly ExitCode: number | null;
}
export interface ExecWriteRequest {
  readonly SessionID: string;
  /** base64; empty: none. */
  readonly Data: string;
  /** Nothing more will come. */
  readonly Close: boolean;
  readonly Size: { readonly Height: number; readonly Width: number } | null;
}
export interface ExecEndRequest {
  readonly SessionID: string;
}

export const execStart = call<ExecStartRequest, ExecStartResponse>('agent.execStart', { timeoutMs: 15_000 });
export const execRead = call<ExecReadRequest, ExecReadResponse>('agent.execRead', { timeoutMs: 15_000 });
/** Patient: a command that does not read holds its writer up. */
export const execWrite = call<ExecWriteRequest, null>('agent.execWrite', { timeoutMs: 600_000 });
export const execEnd = call<ExecEndRequest, null>('agent.execEnd');
