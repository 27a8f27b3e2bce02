import { errorText } from '@waybill/model';
import type { LogFeed } from '@waybill/telemetry';
import type { ReadAgentLogResponse } from '@waybill/rpc';

/** Asks the machine for what comes next, at least this important. */
export type AskForLines = (rank: number) => Promise<ReadAgentLogResponse>;

/**
 * The log of a machine, for monitors, as if it were this process's own (OP-82). One call is open at the machine at any
 * time; it ends with the subscription, or with the first call that fails.
 */
export class AgentLogFeed implements Pick<LogFeed, 'subscribe'> {
  /** @param first what the machine has answered already @param ended the machine answers no more, and why */
  constructor(
    private readonly first: ReadAgentLogResponse,
    private readonly ask: AskForLines,
    private readonly ended: (why: string) => void,
  ) {}

  subscribe(rank: number, take: (line: string) => void): () => void {
    let isWatched = true;
    const offer = ({ Lines, Dropped }: ReadAgentLogResponse): void => {
      for (const line of Lines) take(line);
      if (Dropped > 0) take(lostLine(Dropped));
    };
    void (async () => {
      for (let answer = this.first; isWatched; answer = await this.ask(rank)) offer(answer);
    })().catch((error: unknown) => this.ended(errorText(error)));
    return () => (isWatched = false);
  }
}

/** Lines that did not come across; those that this process could not hand on are told by the monitor. */
const lostLine = (dropped: number): string => `[WARN] Monitor dropped ${dropped} logs during monitor request\n`;
