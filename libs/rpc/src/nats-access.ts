import { type MachineCall, nameOfLook, subjectOfCall } from './call.js';
import * as nodes from './nodes.js';
import { NODES_CHANGES } from './presence.js';
import { taskRequest } from './task-api.js';
import { claimVolume, unpublishVolume } from './volumes.js';

/**
 * Everything that a machine asks. Each of these calls takes the machine's secret, and tells and changes only its own;
 * `taskRequest` has the credential of a task instead.
 */
const MACHINE_CALLS: readonly Pick<MachineCall<unknown, unknown>, 'name' | 'watched' | 'request'>[] = [
  nodes.registerNode,
  nodes.heartbeat,
  nodes.nodeAllocs,
  nodes.allocsById,
  nodes.updateAllocs,
  nodes.emitNodeEvents,
  nodes.registerServices,
  nodes.deregisterServices,
  nodes.signIdentities,
  nodes.namedServices,
  nodes.serviceNames,
  nodes.readVariable,
  nodes.listVariables,
  nodes.listPreviousDisk,
  nodes.readPreviousDisk,
  nodes.drainSelf,
  nodes.selfDrainState,
  claimVolume,
  unpublishVolume,
  taskRequest,
];

const ASKED_BY_MACHINES = MACHINE_CALLS.flatMap(({ name, watched }) =>
  [name, ...(watched ? [nameOfLook(name)] : [])].map((one) => subjectOfCall(one)),
);

/** Longer than the slowest call to a machine (agent.execWrite) may be open. */
const ANSWER_WITHIN = '15m';

/** One who may connect, as nats-server's configuration has it: by public key, so that there is no secret in it. */
export interface NatsUser {
  readonly nkey: string;
  /** Absent: everything in its account. */
  readonly permissions?: {
    readonly publish: { readonly allow: readonly string[] };
    readonly subscribe: { readonly allow: readonly string[] };
    readonly allow_responses?: { readonly max: number; readonly expires: string };
  };
}

/** The servers' own: everything. */
export const serviceUser = (publicKey: string): NatsUser => ({ nkey: publicKey });

/** One machine: asks what machines ask, hears what is asked of it, and may answer that, once each. */
export function machineUser(publicKey: string, nodeId: string): NatsUser {
  return {
    nkey: publicKey,
    permissions: {
      publish: { allow: ASKED_BY_MACHINES },
      subscribe: { allow: [inboxOf(publicKey), subjectOfCall('agent.*', nodeId), NODES_CHANGES] },
      allow_responses: { max: 1, expires: ANSWER_WITHIN },
    },
  };
}

/** The services of another region: ask what regions ask each other, and nothing else. */
export const peerRegionUser = (publicKey: string): NatsUser => ({
  nkey: publicKey,
  permissions: { publish: { allow: ['region.>'] }, subscribe: { allow: [inboxOf(publicKey)] } },
});

/** Reads the stream of events, by consumers or by sequence, and nothing else. */
export function eventReader(publicKey: string): NatsUser {
  return {
    nkey: publicKey,
    permissions: {
      publish: { allow: READING_EVENTS.map(({ service }) => service) },
      subscribe: { allow: [inboxOf(publicKey)] },
    },
  };
}

const inboxOf = (publicKey: string): string => `_INBOX.${publicKey}.>`;

/** Requests of JetStream that make, ask and confirm consumers of EVENTS, and read it by sequence. */
const READING_EVENTS: readonly { readonly service: string; readonly response_type: 'Singleton' | 'Stream' }[] = [
  // An account without streams of its own that does not take this one from elsewhere gets the server's "not enabled" for all.
  { service: '$JS.API.INFO', response_type: 'Singleton' },
  { service: '$JS.API.STREAM.INFO.EVENTS', response_type: 'Singleton' },
  { service: '$JS.API.CONSUMER.CREATE.EVENTS', response_type: 'Singleton' },
  { service: '$JS.API.CONSUMER.CREATE.EVENTS.>', response_type: 'Singleton' },
  { service: '$JS.API.CONSUMER.INFO.EVENTS.*', response_type: 'Singleton' },
  { service: '$JS.API.CONSUMER.MSG.NEXT.EVENTS.*', response_type: 'Stream' },
  { service: '$JS.API.STREAM.MSG.GET.EVENTS', response_type: 'Singleton' },
  { service: '$JS.API.DIRECT.GET.EVENTS', response_type: 'Stream' },
  { service: '$JS.ACK.EVENTS.>', response_type: 'Singleton' },
];

const WAYBILL = 'WAYBILL';
const READERS = 'READERS';

/**
 * `accounts` of nats-server's configuration. Readers of events have an account of their own: JetStream answers to
 * whatever subject it is told to, and within one account that could be the log.
 */
export function natsAccounts(users: readonly NatsUser[], readers: readonly NatsUser[] = []) {
  return {
    [WAYBILL]: {
      jetstream: 'enabled',
      users,
      exports: READING_EVENTS.map((offered) => ({ ...offered, accounts: [READERS] })),
    },
    [READERS]: {
      users: readers,
      imports: READING_EVENTS.map(({ service }) => ({ service: { account: WAYBILL, subject: service } })),
    },
  };
}
