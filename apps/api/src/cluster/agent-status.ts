import type { ReadModel } from '@waybill/projection';
import type { AgentState } from './agent-identity.js';
import type { Leadership } from './leadership.js';
import type { Members } from './members.transport.js';
import type { NeighbouringAgent } from './neighbouring-agent.store.js';
import { runtimeStats } from './runtime-stats.store.js';

export interface Health {
  readonly ok: boolean;
  readonly message: string;
}

/** The result of a read model that cannot be reached: the machine is unknown. */
const NOT_KNOWN = { row: undefined };

export interface AgentStatusDeps {
  readonly neighbour: Pick<NeighbouringAgent, 'nodeId'>;
  readonly leadership: Pick<Leadership, 'isHeld'>;
  readonly members: Pick<Members, 'list' | 'issuerProblem'>;
  readonly model: Pick<ReadModel, 'appliedIndex' | 'node'>;
}

/** AgentStatus reads the current state and health of this server and of the agent beside it (OP-70, OP-75). */
export class AgentStatus {
  constructor(private readonly deps: AgentStatusDeps) {}

  /** Returns the state. It works while parts are down, because its callers want to know which parts are up. */
  async state(): Promise<AgentState> {
    const { neighbour, leadership, members, model } = this.deps;
    const [nodeId, hasLeader, list, appliedIndex] = await Promise.all([
      neighbour.nodeId(),
      leadership.isHeld(),
      members.list(),
      model.appliedIndex().catch(() => 0),
    ]);
    return { nodeId, hasLeader, members: list, appliedIndex, runtime: runtimeStats() };
  }

  /** Returns the health of the agent beside this server, or undefined if there is none. */
  async clientHealth(): Promise<Health | undefined> {
    const nodeId = await this.deps.neighbour.nodeId();
    if (nodeId === undefined) return undefined;
    const { row } = await this.deps.model.node(nodeId).catch(() => NOT_KNOWN);
    const ok = row !== undefined && row.Status !== 'down' && row.Status !== 'disconnected';
    return { ok, message: ok ? 'ok' : 'no known servers' };
  }

  /** Returns the health of this server. A server whose settings differ from others' works, and the message says so. */
  async serverHealth(): Promise<Health> {
    const { leadership, members } = this.deps;
    const [ok, problem] = await Promise.all([leadership.isHeld(), members.issuerProblem()]);
    return { ok, message: ok ? (problem ?? 'ok') : 'no leader' };
  }
}
