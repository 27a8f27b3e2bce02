import type { NatsConnection } from '@nats-io/transport-node';

/** Core NATS: every process of `nodes` says here, again and again, that it is there. Heard by its peers. */
const SIGNS = 'waybill.nodes.signs';
/** Core NATS: a process of `nodes` has begun, or is gone without a word. Heard by every machine. Lost ones do no harm. */
export const NODES_CHANGES = 'waybill.nodes.changes';

export interface SignOfLife {
  readonly instance: string;
  /** The last one: it ends in good order. */
  readonly ends: boolean;
}

/** What processes of `nodes` say of themselves and to machines. */
export interface Presence {
  sign(sign: SignOfLife): void;
  /** Signs of all, one's own too. @returns ends it */
  onSign(heard: (sign: SignOfLife) => void): () => void;
  announceChange(): void;
}

export function natsPresence(nc: NatsConnection): Presence {
  return {
    sign: ({ instance, ends }) => nc.publish(SIGNS, ends ? `-${instance}` : `+${instance}`),
    onSign: (heard) => {
      const subscription = nc.subscribe(SIGNS, {
        callback: (error, msg) => {
          const text = error ? '' : msg.string();
          if (text.startsWith('+') || text.startsWith('-')) heard({ instance: text.slice(1), ends: text[0] === '-' });
        },
      });
      return () => subscription.unsubscribe();
    },
    announceChange: () => nc.publish(NODES_CHANGES),
  };
}

/** A connection to NATS that tells when it is lost and when it is back. */
export interface WatchedConnection {
  readonly nc: NatsConnection;
  /** @returns ends it */
  onChange(listener: (up: boolean) => void): () => void;
}

/**
 * For machines: what they asked of `nodes` may never be answered, because whoever they asked is gone, or because the answer
 * came while this connection was lost. @returns ends it
 */
export function onNodesChanged(connection: WatchedConnection, changed: () => void): () => void {
  const subscription = connection.nc.subscribe(NODES_CHANGES, { callback: (error) => void (error ?? changed()) });
  const unwatch = connection.onChange((up) => {
    if (up) changed();
  });
  return () => {
    unwatch();
    subscription.unsubscribe();
  };
}
