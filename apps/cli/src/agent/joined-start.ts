import type { ParsedFlags } from '../flags/parsed-flags.js';
import type { AgentFlags } from './agent-config.js';
import { type AgentStart, agentStart } from './agent-start.js';

/** A machine that has joined a cluster. */
export interface JoinedMachine {
  readonly natsUrl: string;
  /** File with its NATS key. */
  readonly seedFile: string;
  /** File with the authority that signed the certificate of NATS. */
  readonly caFile?: string;
  /** Whether the machine has to prove itself to NATS. */
  readonly proves: boolean;
}

/**
 * How to start the agent of a machine that has joined: like `agent -client`, with its own key. @throws CommandFailure
 */
export function joinedStart(flags: ParsedFlags, { natsUrl, seedFile, caFile, proves }: JoinedMachine): AgentStart {
  const asClient: AgentFlags = {
    on: (name) => name === 'client' || (flags.has(name) && flags.on(name)),
    given: (name) => flags.given(name),
    text: (name) => (name === 'nats' ? natsUrl : flags.has(name) ? flags.text(name) : undefined),
    integer: (name) => (flags.has(name) ? flags.integer(name) : undefined),
    list: (name) => flags.list(name),
  };
  const start = agentStart(asClient, '');
  return {
    ...start,
    env: {
      ...start.env,
      WAYBILL_NATS_CREDENTIALS: seedFile,
      ...(proves && { WAYBILL_NATS_PROOF: 'true' }),
      ...(caFile !== undefined && { WAYBILL_NATS_CA_FILE: caFile }),
    },
  };
}
