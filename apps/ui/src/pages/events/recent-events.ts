import { useCallback, useEffect, useState } from 'react';
import { send } from '../../api/client.js';
import { type Change, readLine, splitLines } from '../../live/change.js';
import { useChanges } from '../../live/live-updates.js';
import { VISIBLE_TOPICS } from '../../live/topics.js';
import { merged } from './event-list.js';

export interface RecentEvents {
  /** The events, the newest first. */
  readonly events: readonly Change[];
  readonly error: unknown;
  readonly isLoading: boolean;
}

/** Returns the latest events, which the stream replays, and those that happen while the page is open. */
export function useRecentEvents(): RecentEvents {
  const [state, setState] = useState<RecentEvents>({ events: [], error: undefined, isLoading: true });
  const add = useCallback((more: readonly Change[]) => {
    const told = more.filter(({ index }) => index > 0);
    setState((before) => ({ ...before, events: merged(before.events, told) }));
  }, []);
  useChanges(add);
  useEffect(() => {
    const end = new AbortController();
    replayed(end.signal).then(
      (events) => setState((before) => ({ events: merged(before.events, events), error: undefined, isLoading: false })),
      (error: unknown) => {
        if (!end.signal.aborted) setState((before) => ({ ...before, error, isLoading: false }));
      },
    );
    return () => end.abort();
  }, []);
  return state;
}

/** Returns the events of the last hundred indexes that are kept (EV-63). @throws ApiFailure */
async function replayed(signal: AbortSignal): Promise<readonly Change[]> {
  const answer = await send('GET', `/v1/event/stream?until=head&${VISIBLE_TOPICS}`, { signal });
  const { lines } = splitLines('', await answer.text());
  return lines.flatMap((line) => readLine(line).changes);
}
