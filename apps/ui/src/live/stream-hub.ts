import type { Change } from './change.js';
import { watchConfiguration } from './configuration-watch.js';
import { EventStream, type StreamListener, type StreamMeans } from './event-stream.js';
import { CONNECTING, type StreamStatus } from './stream-status.js';

/** A change that is not in the event stream. Pages receive it in the same way. */
const CONFIGURATION_CHANGE: Change = {
  index: 0,
  topic: 'SchedulerConfiguration',
  type: 'SchedulerConfiguration',
  key: '',
  namespace: '',
  filterKeys: [],
  payload: {},
};

interface Shared {
  readonly followers: Set<StreamListener>;
  readonly end: AbortController;
  status: StreamStatus;
}

/**
 * Shares one event stream per token among all tabs that follow it.
 *
 * A stream of a token is absent → followed → absent: it begins with its first follower and ends with its last. Cost: two
 * connections per token, one for events and one that waits for the scheduler configuration, and a call per follower and
 * batch of changes. Limits: those of the browser.
 */
export class StreamHub {
  private readonly streams = new Map<string, Shared>();

  constructor(private readonly means: StreamMeans) {}

  /** @returns a function that stops following */
  follow(token: string, listener: StreamListener): () => void {
    const shared = this.streams.get(token) ?? this.begin(token);
    shared.followers.add(listener);
    listener.onStatus(shared.status);
    return () => {
      shared.followers.delete(listener);
      if (shared.followers.size > 0) return;
      shared.end.abort();
      if (this.streams.get(token) === shared) this.streams.delete(token);
    };
  }

  private begin(token: string): Shared {
    const shared: Shared = { followers: new Set(), end: new AbortController(), status: CONNECTING };
    this.streams.set(token, shared);
    const stream = new EventStream(token, this.means, {
      onStatus: (status) => {
        shared.status = status;
        for (const one of shared.followers) one.onStatus(status);
      },
      onChanges: (changes: readonly Change[]) => {
        for (const one of shared.followers) one.onChanges(changes);
      },
      onGap: () => {
        for (const one of shared.followers) one.onGap();
      },
    });
    void stream.follow(shared.end.signal);
    const tellConfiguration = (): void => {
      for (const one of shared.followers) one.onChanges([CONFIGURATION_CHANGE]);
    };
    void watchConfiguration(token, this.means, tellConfiguration, shared.end.signal);
    return shared;
  }
}
