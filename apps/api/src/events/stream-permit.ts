import type { EventAbout } from '@waybill/projection';
import { EVERYBODY } from '../access/caller.js';
import type { CallerWatch, CallerWatches } from '../access/caller-watch.js';
import type { ExistingNamespaces } from '../access/request-access.js';
import { checkTopics, maySee, maySeePart, subscribedNamespaces, visibleTopics } from './event-rights.js';
import type { Topics } from './event-filter.js';

export interface StreamPermitOptions {
  readonly watches: CallerWatches;
  readonly namespaces: ExistingNamespaces;
}

/** Subscription is the request of a subscriber with their credential. */
export interface Subscription {
  readonly credential: string | undefined;
  readonly topics: Topics;
  /** The requested namespace; `*` stands for all. */
  readonly namespace: string;
  /** Whether the subscription is to the events that the caller may see, in place of all or none (EV-49). */
  readonly isVisibleOnly?: boolean;
}

/** StreamPermits opens permits. It has no state. */
export class StreamPermits {
  constructor(private readonly options: StreamPermitOptions) {}

  /** @throws Refusal forbidden; the errors of the read model */
  async open({ credential, topics, namespace, isVisibleOnly = false }: Subscription): Promise<StreamPermit> {
    const { watches, namespaces } = this.options;
    let everywhere: ReadonlySet<string> | undefined;
    const watch = await watches.open(credential, async (caller) => {
      const isNeeded = namespace === '*' && (isVisibleOnly || !caller.acl.isManagement());
      const subscribed = subscribedNamespaces(namespace, isNeeded ? await namespaces() : []);
      if (isVisibleOnly) everywhere = visibleTopics(caller, topics, subscribed);
      else checkTopics(caller, topics, subscribed);
    });
    return new StreamPermit(watch, () => everywhere);
  }
}

/**
 * StreamPermit is the right of one open event stream (EV-40 to EV-49). Modes: open → ended. Every change of the caller's
 * rights causes a new check of all subscribed topics, and nothing is sent until the check is done (`settled`). The
 * permit ends when the token is deleted or expired, or has lost a right that the subscription needs.
 */
export class StreamPermit {
  /** @param everywhere returns the topics of `visibleTopics`; undefined if the caller may see the whole subscription */
  constructor(
    private readonly watch: CallerWatch,
    private readonly everywhere: () => ReadonlySet<string> | undefined,
  ) {}

  /** The signal is aborted when the right has ended. */
  get ended(): AbortSignal {
    return this.watch.ended;
  }

  /** Resolves when all reported changes are checked. The result is false if the right has ended. */
  settled(): Promise<boolean> {
    return this.watch.settled();
  }

  /**
   * Returns a function that says whether the subscriber may see an event. It is undefined if they may see every event,
   * now and later.
   */
  get filter(): ((event: EventAbout) => boolean) | undefined {
    if (this.watch.caller === EVERYBODY) return undefined;
    return (event) => {
      const everywhere = this.everywhere();
      return everywhere ? maySeePart(this.watch.caller, event, everywhere) : maySee(this.watch.caller, event);
    };
  }

  /** Ends the watching for changes. Every owner must call it. */
  close(): void {
    this.watch.close();
  }
}
