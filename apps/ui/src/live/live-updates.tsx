import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { currentToken, onTokenChange } from '../api/token.js';
import { affectedBy, nameOf } from './affected-queries.js';
import type { Change } from './change.js';
import { followStream } from './followed-stream.js';
import { ListPatches } from './list-patches.js';
import { RefreshQueue } from './refresh-queue.js';
import { CONNECTING, type StreamStatus } from './stream-status.js';

const StatusContext = createContext<StreamStatus>(CONNECTING);

/** How this browser is connected to what happens in the cluster. */
export const useStreamStatus = (): StreamStatus => useContext(StatusContext);

type ChangesListener = (changes: readonly Change[]) => void;
const changesListeners = new Set<ChangesListener>();

/** Calls back with every change while the component is shown. */
export function useChanges(listener: ChangesListener): void {
  useEffect(() => {
    changesListeners.add(listener);
    return () => {
      changesListeners.delete(listener);
    };
  }, [listener]);
}

/** Keeps the cached answers as new as the cluster is, by the event stream alone: nothing polls. */
export function LiveUpdates({ children }: { readonly children: ReactNode }) {
  const queries = useQueryClient();
  const token = useSyncExternalStore(onTokenChange, currentToken);
  const [status, setStatus] = useState<StreamStatus>(CONNECTING);
  useEffect(() => follow(queries, token, setStatus), [queries, token]);
  // What another caller was answered is not shown to this one.
  const asked = useRef(token);
  useEffect(() => {
    if (asked.current !== token) void queries.resetQueries();
    asked.current = token;
  }, [queries, token]);
  return <StatusContext value={status}>{children}</StatusContext>;
}

function follow(queries: QueryClient, token: string, tell: (status: StreamStatus) => void): () => void {
  const queue = new RefreshQueue({
    refresh: (queryKey) => queries.invalidateQueries({ queryKey: [...queryKey] }),
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    nowMs: () => performance.now(),
  });
  const patches = new ListPatches(
    queries,
    (keys) => queue.add(keys),
    (ms, patch) => setTimeout(patch, ms),
  );
  let wasLive = false;
  return followStream(token, {
    onStatus: (status) => {
      tell(status);
      // What was read before the stream was there may be older than its beginning.
      if (status.phase === 'live' && !wasLive) {
        wasLive = true;
        void queries.invalidateQueries();
      }
    },
    onChanges: (changes) => {
      for (const change of changes) {
        const patched = new Set(patches.add(change).map(nameOf));
        queue.add(affectedBy(change).filter((key) => !patched.has(nameOf(key))));
      }
      for (const listener of changesListeners) listener(changes);
    },
    onGap: () => void queries.invalidateQueries(),
  });
}
