import { errorText } from '@waybill/model';
import type { LogFeed } from '@waybill/telemetry';
import type { ReadAgentLogResponse } from '@waybill/rpc';

/** Asks the machine for its next lines of at least this rank. */
export type AskForLines = (rank: number) => Promise<ReadAgentLogResponse>;

/**
 * AgentLogFeed gives monitors the log of a machine as if it were this process's own (OP-82). One call to the machine is
 * open at any time. It ends with the subscription, or with the first call that fails.
 */
export class AgentLogFeed implements Pick<LogFeed, 'subscribe'> {
  /** @param first the machine's first answer @param ended receives the reason when the machine no longer answers */
  constructor(
    private readonly first: ReadAgentLogResponse,
    private readonly ask: AskForLines,
    private readonly ended: (why: string) => void,
  ) {}

  subscribe(rank: number, take: (line: string) => void): () => void {
    let isWatched = true;
    const publishLines = ({ Lines, Dropped }: ReadAgentLogResponse): void => {
      for (const line of Lines) take(line);
      if (Dropped > 0) take(lostLine(Dropped));
    };
    void (async () => {
      for (let answer = this.first; isWatched; answer = await this.ask(rank)) publishLines(answer);
    })().catch((error: unknown) => this.ended(errorText(error)));
    return () => (isWatched = false);
  }
}

/** Reports lines that did not arrive. The monitor reports lines that this process could not pass on. */
const lostLine = (dropped: number): string => `[WARN] Monitor dropped ${dropped} logs during monitor request\n`;
