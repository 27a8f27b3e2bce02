/** How a browser is connected to what happens in the cluster. */
export type StreamStatus =
  | { readonly phase: 'connecting' }
  | { readonly phase: 'live'; readonly index: number; readonly lastChangeMs: number }
  /** Since `sinceMs` nothing can have been heard. */
  | { readonly phase: 'reconnecting'; readonly index: number; readonly lastChangeMs: number; readonly sinceMs: number }
  /** The token may not read events: pages show what they read when they were opened. */
  | { readonly phase: 'refused'; readonly text: string };

export const CONNECTING: StreamStatus = { phase: 'connecting' };
