import type { Call } from '../command-spec.js';
import { failed } from '../failure.js';
import { refusal } from '../terminal/confirmation.js';
import { keyValues, table } from '../terminal/table.js';

export const LOG_STATUS_PATH = '/v1/operator/log/status';
export const LOG_ADOPT_PATH = '/v1/operator/log/adopt';
export const LOG_RESTORE_PATH = '/v1/operator/log/restore';

/** Comparison of the log and the database. */
export interface LogStatus {
  readonly LogFirst: number;
  readonly LogLast: number;
  readonly AppliedIndex: number;
  /** The last index at which both have the same transaction. */
  readonly CommonIndex: number;
  readonly EventsIndex: number;
  /** Index with which the log's present history started. 0 for its first history. */
  readonly HistoryIndex: number;
  /** Reason why nothing is written. Empty if writing is allowed. */
  readonly Divergence: string;
  readonly LostCount: number;
  /** Lost transactions, newest first. The list may be incomplete. */
  readonly Lost: readonly LostTransaction[];
  /** In the response to a decision: the index with which the new history starts. */
  readonly Index?: number;
}

interface LostTransaction {
  readonly Index: number;
  readonly Name: string;
  readonly Actor: { readonly Name: string };
  readonly RequestID: string;
  readonly Objects: readonly { readonly Kind: string; readonly ID: string; readonly Change: string }[] | null;
}

export function statusText(status: LogStatus): string {
  const isSame = status.LostCount === 0 && status.Divergence === '';
  return keyValues([
    ['Log', `${status.LogFirst} to ${status.LogLast}`],
    ['Database', String(status.AppliedIndex)],
    ['In common to', String(status.CommonIndex)],
    ['Events to', String(status.EventsIndex)],
    ['History since', String(status.HistoryIndex)],
    ['Lost', String(status.LostCount)],
    ['State', isSame ? 'the log is the one that was read' : status.Divergence || 'an operator has to decide'],
  ]);
}

export const lostTable = ({ Lost }: LogStatus): string =>
  table([
    ['Index', 'Transaction', 'By', 'Request', 'What it did'],
    ...Lost.map(({ Index, Name, Actor, RequestID, Objects }) => [
      String(Index),
      Name,
      Actor.Name,
      RequestID,
      (Objects ?? []).map(({ Kind, ID, Change }) => `${Kind} ${ID}: ${Change}`).join(', '),
    ]),
  ]);

/**
 * Shows the transactions that would be lost and asks for confirmation, unless a flag confirms.
 * @returns undefined to go on, otherwise the exit code
 */
export async function refusedDecision(call: Call, question: string): Promise<number | undefined> {
  const { api, flags, terminal } = call;
  if (flags.on('yes')) return undefined;
  const { value } = await api.get<LogStatus>(LOG_STATUS_PATH).catch((error: unknown) => {
    throw failed('reading the state of the log', error);
  });
  terminal.print(statusText(value));
  if (value.Lost.length > 0) terminal.print(lostTable(value));
  return refusal(call, question, 'Nothing was changed');
}
