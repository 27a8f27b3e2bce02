import { nsFromMs } from '@waybill/model/clock';
import { formatDuration } from '@waybill/model/duration';
import { type BatchWait, type RestartOptions, waitMs } from './options.js';

/** The decision after a batch that is not the last one. */
export type Between =
  | { readonly kind: 'go-on' }
  | { readonly kind: 'stop'; readonly line: string }
  | { readonly kind: 'ask'; readonly question: Question };

/** A question and the meaning of an empty answer. */
export interface Question {
  readonly text: string;
  readonly emptyMeans: 'yes' | 'no';
  /** Whether the answer may be a duration (JR-505). */
  readonly takesWait: boolean;
}

export type Answer = 'yes' | 'no' | { readonly waitMs: number };

/** The errors of a batch. */
export interface BatchErrors {
  readonly any: boolean;
  /** Whether an error is a placement failure or a denied permission (JR-503). */
  readonly unrecoverable: boolean;
}

/**
 * Decides between two batches: stop, continue, or ask (JR-501, JR-502, JR-504).
 * @param wait the present setting; once the user has answered with a duration, there are no further questions
 */
export function betweenBatches(
  { any, unrecoverable }: BatchErrors,
  { onError, yes }: Pick<RestartOptions, 'onError' | 'yes'>,
  wait: BatchWait,
): Between {
  if (any && onError === 'fail') return { kind: 'stop', line: 'Stopping job restart due to error' };
  if (unrecoverable && yes) return { kind: 'stop', line: 'Stopping job restart due to unrecoverable error' };
  if (yes || (!any && wait !== 'ask')) return { kind: 'go-on' };
  const takesWait = wait === 'ask';
  const emptyMeans = any ? 'no' : 'yes';
  const text = `${questionText(any, unrecoverable)} ${choices(emptyMeans, takesWait)}`;
  return { kind: 'ask', question: { text, emptyMeans, takesWait } };
}

function questionText(any: boolean, unrecoverable: boolean): string {
  if (unrecoverable)
    return 'The errors above are likely to happen again.\nIgnore them anyway and proceed with the next batch?';
  return any ? 'Ignore the errors above and proceed with the next batch?' : 'Proceed with the next batch?';
}

const choices = (emptyMeans: Question['emptyMeans'], takesWait: boolean): string =>
  `[${emptyMeans === 'yes' ? 'Y/n' : 'y/N'}${takesWait ? '/<wait duration>' : ''}]`;

/** Parses an answer (JR-505, JR-506). Returns undefined for an invalid one. */
export function understand(given: string, { emptyMeans, takesWait }: Omit<Question, 'text'>): Answer | undefined {
  const answer = given.trim().toLowerCase();
  if (answer === '') return emptyMeans;
  if (answer === 'y' || answer === 'yes') return 'yes';
  if (answer === 'n' || answer === 'no') return 'no';
  const ms = takesWait ? waitMs(answer) : undefined;
  return ms === undefined ? undefined : { waitMs: ms };
}

/** Formats a duration like `1m30s` (JR-907). */
export const shownWait = (ms: number): string => formatDuration(nsFromMs(ms));
