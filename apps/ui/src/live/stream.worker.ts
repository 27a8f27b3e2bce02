import { StreamHub } from './stream-hub.js';
import { browserMeans } from './stream-means.js';
import type { FollowRequest, WorkerMessage } from './worker-messages.js';

/** The shared worker: holds the event stream for all tabs of the browser. */
const hub = new StreamHub(browserMeans);

function serve(port: MessagePort): void {
  let leave = (): void => {};
  port.addEventListener('message', ({ data }: MessageEvent<FollowRequest>) => {
    leave();
    const tell = (message: WorkerMessage): void => port.postMessage(message);
    const stop = hub.follow(data.token, {
      onStatus: (status) => tell({ kind: 'status', status }),
      onChanges: (changes) => tell({ kind: 'changes', changes }),
      onGap: () => tell({ kind: 'gap' }),
    });
    leave = stop;
    // The lock is granted when the tab is closed, asleep for good, or follows with another token.
    void navigator.locks.request(data.lock, stop);
  });
  port.start();
}

addEventListener('connect', (event) => {
  for (const port of (event as MessageEvent).ports) serve(port);
});
