import { z } from 'zod';
import { call, machineCall } from './call.js';

/** Bytes of the body of a task's request, which is one message (AU-211). */
export const MAX_TASK_REQUEST_BYTES = 512 * 1024;
/** Bytes of one piece of an answer. */
export const MAX_TASK_ANSWER_PIECE_BYTES = 256 * 1024;
/** Requests of tasks that one API process works on at once; an event stream counts until it ends. */
export const MAX_TASK_REQUESTS = 2_048;
/** Longer than the longest blocking query. */
const TASK_REQUEST_TIMEOUT_MS = 6 * 60_000;
/** A task that does not read holds its answer up for so long. */
const ANSWER_PIECE_TIMEOUT_MS = 60_000;

/** An HTTP request that a task has sent to the socket in its secrets directory. */
export interface TaskApiRequest {
  /** The machine that further pieces of the answer are sent to. */
  readonly NodeID: string;
  /** Names the answer there. */
  readonly RequestID: string;
  readonly Method: string;
  /** Path and query, as they were sent. */
  readonly Path: string;
  readonly Headers: Readonly<Record<string, string>>;
  /** base64 */
  readonly Body: string;
}

/** The beginning of the answer. */
export interface TaskApiAnswer {
  readonly Status: number;
  readonly Headers: Readonly<Record<string, string | readonly string[]>>;
  /** base64 */
  readonly Body: string;
  /** Further pieces come by `taskAnswerPiece`. */
  readonly More: boolean;
}

export interface TaskAnswerPiece {
  readonly RequestID: string;
  /** base64 */
  readonly Body: string;
  readonly Ended: boolean;
}

/**
 * To the HTTP API of the servers, for a task. It adds no right: what counts is the credential in the request's headers, as
 * at the API's port (AU-215).
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

/** To one machine; answered when the task has read the piece. Refused as `not-found` when the task has hung up. */
export const taskAnswerPiece = call<TaskAnswerPiece, null>('agent.taskAnswerPiece', {
  timeoutMs: ANSWER_PIECE_TIMEOUT_MS,
});
