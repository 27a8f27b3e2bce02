import { z } from 'zod';
import { call, machineCall } from './call.js';

/** Most bytes in the body of a task's request, which is one message (AU-211). */
export const MAX_TASK_REQUEST_BYTES = 512 * 1024;
/** Most bytes of one piece of a response. */
export const MAX_TASK_ANSWER_PIECE_BYTES = 256 * 1024;
/** Most requests of tasks that one API process serves at once. An event stream counts until it ends. */
export const MAX_TASK_REQUESTS = 2_048;
/** Longer than the longest blocking query. */
const TASK_REQUEST_TIMEOUT_MS = 6 * 60_000;
/** A task that does not read holds up its response for this long. */
const ANSWER_PIECE_TIMEOUT_MS = 60_000;

/** An HTTP request that a task has sent to the socket in its secrets directory. */
export interface TaskApiRequest {
  /** The machine that gets further pieces of the response. */
  readonly NodeID: string;
  /** ID of the response on that machine. */
  readonly RequestID: string;
  readonly Method: string;
  /** Path and query as the task sent them. */
  readonly Path: string;
  readonly Headers: Readonly<Record<string, string>>;
  /** In base64. */
  readonly Body: string;
}

/** Start of the response. */
export interface TaskApiAnswer {
  readonly Status: number;
  readonly Headers: Readonly<Record<string, string | readonly string[]>>;
  /** In base64. */
  readonly Body: string;
  /** Whether further pieces follow through `taskAnswerPiece`. */
  readonly More: boolean;
}

export interface TaskAnswerPiece {
  readonly RequestID: string;
  /** In base64. */
  readonly Body: string;
  readonly Ended: boolean;
}

/**
 * Sends a task's request to the HTTP API of the servers. It adds no rights: only the credential in the request's
 * headers counts, as at the API's port (AU-215).
 */
export const taskRequest = machineCall<TaskApiRequest, TaskApiAnswer>(
  'api.taskRequest',
  {
    NodeID: z.string(),
    RequestID: z.string(),
    Method: z.string(),
    Path: z.string(),
    Headers: z.record(z.string(), z.string()),
    Body: z.string(),
  },
  { timeoutMs: TASK_REQUEST_TIMEOUT_MS, maxInProgress: MAX_TASK_REQUESTS },
);

/**
 * Goes to one machine. Returns when the task has read the piece. Refused as `not-found` if the task has closed the
 * connection.
 */
export const taskAnswerPiece = call<TaskAnswerPiece, null>('agent.taskAnswerPiece', {
  timeoutMs: ANSWER_PIECE_TIMEOUT_MS,
});
