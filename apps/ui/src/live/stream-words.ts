import { distanceInWords } from '../words/times.js';
import type { StreamStatus } from './stream-status.js';

export interface StreamNoticeWords {
  readonly tone: 'live' | 'waiting' | 'behind';
  readonly text: string;
}

/** Returns what a page says about its connection to the cluster. */
export function noticeOf(status: StreamStatus, nowMs: number, isSignedIn: boolean): StreamNoticeWords {
  switch (status.phase) {
    case 'connecting':
      return { tone: 'waiting', text: 'Connecting' };
    case 'live':
      return { tone: 'live', text: 'Live' };
    case 'reconnecting':
      return { tone: 'behind', text: `Reconnecting${lastChange(status.lastChangeMs, nowMs)}` };
    case 'refused':
      return { tone: 'behind', text: isSignedIn ? NOTHING_VISIBLE : 'Not live: sign in to see changes.' };
  }
}

const NOTHING_VISIBLE = 'Not live: your token may not read events. Load the page again to see changes.';

const lastChange = (lastChangeMs: number, nowMs: number): string =>
  lastChangeMs === 0 ? '' : `, last change ${distanceInWords(lastChangeMs, nowMs)}`;
