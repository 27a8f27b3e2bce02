import type { Clock, Timers } from '@waybill/model';
import { type CallUser, readAgentLog, type Rpc, UserRpc } from '@waybill/rpc';
import { type LogFeed, RANK } from '@waybill/telemetry';
import { askAgent } from '../client/agent-call.js';
import { AgentLogFeed } from './agent-log-feed.js';
import { LogMonitor, type MonitorWish } from './log-monitor.js';

export interface LogMonitorsDeps {
  readonly rpc: Rpc;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
}

/** LogMonitors makes the monitors of one request each (OP-82), and the feeds of the logs of machines. It keeps nothing. */
export class LogMonitors {
  constructor(private readonly deps: LogMonitorsDeps) {}

  monitor(feed: Pick<LogFeed, 'subscribe'>, wish: MonitorWish): LogMonitor {
    const { clock, timers } = this.deps;
    return new LogMonitor(feed, clock, timers, wish);
  }

  /**
   * Returns the feed of the log of a machine, which has answered once.
   * @param ended is called with the reason when the machine ends the feed
   * @throws Refusal if the machine cannot be reached
   */
  async feedOf(
    user: CallUser,
    nodeId: string,
    { level }: MonitorWish,
    ended: (why: string) => void,
  ): Promise<Pick<LogFeed, 'subscribe'>> {
    const { rpc, newId } = this.deps;
    const ReaderID = newId();
    const ask = (Rank: number) =>
      askAgent(new UserRpc(rpc, user), readAgentLog, { ReaderID, Rank }, { target: nodeId });
    return new AgentLogFeed(await ask(RANK[level]), ask, ended);
  }
}
