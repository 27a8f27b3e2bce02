import { AnswerFailure } from '../server/api-failure.js';
import type { Call } from '../command-spec.js';
import type { EventCursor } from './event-cursor.js';
import type { Start } from './event-follower.js';
import { failed, FlagFailure } from '../failure.js';
import { pastTime } from '../flags/flag-time.js';
import type { TxnRecord } from '../history/log-record.js';
import { msOf } from '../terminal/times.js';

/** Where to start, and the time in unix nanoseconds before which lines are skipped (0 for none). */
export interface EventStart {
  readonly start: Start;
  readonly sinceNs: number;
}

/** Evaluates -cursor, -since and -index, in this order (CL-1006). @throws CommandFailure, FlagFailure */
export async function eventStart(call: Call, cursor: EventCursor | undefined): Promise<EventStart> {
  const printed = cursor?.readIndex();
  if (printed !== undefined) return { start: printed + 1, sinceNs: 0 };
  const since = call.flags.text('since');
  return since === undefined
    ? { start: given(call.flags.text('index') ?? 'now'), sinceNs: 0 }
    : startSince(call, since);
}

/** @throws FlagFailure */
function given(text: string): Start {
  if (text === 'now' || text === 'oldest') return text;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new FlagFailure(`invalid value "${text}" for flag -index: neither a whole number nor now nor oldest`);
}

/**
 * Asks the log for the first index at or after a time. A caller without access to the log starts with the oldest lines
 * and skips those before the time.
 */
async function startSince({ api, clock }: Call, text: string): Promise<EventStart> {
  const since = pastTime('since', text, clock.nowMs());
  const ms = msOf(since);
  if (ms === undefined)
    throw new FlagFailure(
      `invalid value "${text}" for flag -since: neither a duration nor a time such as 2026-03-01T10:00:00Z`,
    );
  try {
    const query = { since, reverse: true, per_page: 1 };
    const [first] = (await api.get<TxnRecord[] | null>('/v1/waybill/log', query)).value ?? [];
    return { start: first?.Index ?? 'now', sinceNs: 0 };
  } catch (error) {
    if (!(error instanceof AnswerFailure) || (error.status !== 403 && error.status !== 404))
      throw failed('querying the log', error);
    return { start: 'oldest', sinceNs: ms * 1e6 };
  }
}
