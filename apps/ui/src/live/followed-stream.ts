import type { StreamListener } from './event-stream.js';
import { StreamHub } from './stream-hub.js';
import { browserMeans } from './stream-means.js';
import type { FollowRequest, WorkerMessage } from './worker-messages.js';

/**
 * Follows the event stream that all tabs share. If the browser has no shared workers, the tab has a stream of its own.
 * @returns a function that stops
 */
export function followStream(token: string, listener: StreamListener): () => void {
  return 'SharedWorker' in globalThis && 'locks' in navigator
    ? followWorker(token, listener)
    : new StreamHub(browserMeans).follow(token, listener);
}

function followWorker(token: string, listener: StreamListener): () => void {
  const worker = new SharedWorker(new URL('./stream.worker.ts', import.meta.url), { type: 'module' });
  worker.port.addEventListener('message', ({ data }: MessageEvent<WorkerMessage>) => {
    if (data.kind === 'status') listener.onStatus(data.status);
    else if (data.kind === 'changes') listener.onChanges(data.changes);
    else listener.onGap();
  });
  worker.port.start();
  const lock = `waybill-tab-${crypto.randomUUID?.() ?? Math.random()}`;
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  void navigator.locks.request(lock, () => {
    worker.port.postMessage({ token, lock } satisfies FollowRequest);
    return held;
  });
  return () => {
    release();
    worker.port.close();
  };
}
