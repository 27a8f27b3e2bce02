import type { Answer, ApiClient, Query } from '../server/api-client.js';
import { AnswerFailure } from '../server/api-failure.js';
import { CommandFailure, failed } from '../failure.js';
import type { TxnRecord } from './log-record.js';

export type LogPage = Answer<TxnRecord[] | null>;

/** Reads one page of the history (API-264). @throws CommandFailure */
export async function readLog(api: ApiClient, query: Query): Promise<LogPage> {
  return api.get<TxnRecord[] | null>('/v1/waybill/log', query).catch((error: unknown) => {
    throw withoutLog(error) ?? failed('querying the log', error);
  });
}

/**
 * Returns a failure if the server has no transaction log: its 404 for an unknown path has no text, unlike that for an
 * unknown object (CL-1029).
 */
export function withoutLog(error: unknown): CommandFailure | undefined {
  if (!(error instanceof AnswerFailure) || error.status !== 404 || error.body !== '') return undefined;
  return new CommandFailure('The server does not keep a transaction log (no Waybill server?)');
}
