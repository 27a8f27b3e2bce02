import type { NatsConnection } from '@nats-io/transport-node';

/** Core NATS subject on which every process of `nodes` announces its presence to the others at intervals. */
const SIGNS = 'waybill.nodes.signs';
/**
 * Core NATS subject on which processes of `nodes` tell all machines that a process has started or died. A lost message
 * does no harm.
 */
export const NODES_CHANGES = 'waybill.nodes.changes';

export interface SignOfLife {
  readonly instance: string;
  /** Set in the last announcement of an orderly stop. */
  readonly ends: boolean;
}

/** Announcements between processes of `nodes`, and to machines. */
export interface Presence {
  sign(sign: SignOfLife): void;
  /** Listens to the announcements of all processes, including this one. @returns a function that stops listening */
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

/** A connection to NATS that reports its loss and its return. */
export interface WatchedConnection {
  readonly nc: NatsConnection;
  /** @returns a function that stops listening */
  onChange(listener: (up: boolean) => void): () => void;
}

/**
 * Tells a machine that its calls to `nodes` may never be answered, because the called process is gone or the response
 * came while this connection was lost. @returns a function that stops listening
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
