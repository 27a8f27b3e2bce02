/** StreamStatus says how a browser is connected to the events of the cluster. */
export type StreamStatus =
  | { readonly phase: 'connecting' }
  | { readonly phase: 'live'; readonly index: number; readonly lastChangeMs: number }
  /** The connection is lost, and no change after `sinceMs` is known. */
  | { readonly phase: 'reconnecting'; readonly index: number; readonly lastChangeMs: number; readonly sinceMs: number }
  /** The token may not read events, so pages show the data from when they were opened. */
  | { readonly phase: 'refused'; readonly text: string };

export const CONNECTING: StreamStatus = { phase: 'connecting' };
