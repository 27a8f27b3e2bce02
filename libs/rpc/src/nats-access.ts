import { type MachineCall, livenessCallName, subjectOfCall } from './call.js';
import * as nodes from './nodes.js';
import { NODES_CHANGES } from './presence.js';
import { taskRequest } from './task-api.js';
import { userMay } from './user-may.js';
import { claimVolume, unpublishVolume } from './volumes.js';

/**
 * All calls of machines. Each one checks the machine's secret, and reads and changes only the machine's own data.
 * `taskRequest` has the credential of a task instead.
 */
const MACHINE_CALLS: readonly Pick<MachineCall<unknown, unknown>, 'name' | 'watched' | 'namesMachine' | 'request'>[] = [
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
  userMay,
];

/** The subjects on which a machine makes its calls. A call that names its machine is limited to that machine (AU-263). */
const askedByMachine = (nodeId: string): string[] =>
  MACHINE_CALLS.flatMap(({ name, watched, namesMachine }) => [
    subjectOfCall(name, namesMachine ? nodeId : undefined),
    ...(watched ? [subjectOfCall(livenessCallName(name))] : []),
  ]);

/** Longer than the slowest call to a machine (agent.execWrite). */
const ANSWER_WITHIN = '15m';

/** A user in nats-server's configuration, identified by a public key, so that the configuration contains no secret. */
export interface NatsUser {
  readonly nkey: string;
  /** If absent, everything in the user's account is allowed. */
  readonly permissions?: {
    readonly publish: { readonly allow: readonly string[] };
    readonly subscribe: { readonly allow: readonly string[] };
    readonly allow_responses?: { readonly max: number; readonly expires: string };
  };
}

/** A user that may not do everything. */
export type LimitedNatsUser = NatsUser & Required<Pick<NatsUser, 'permissions'>>;

/** The servers' own user, without restrictions. */
export const serviceUser = (publicKey: string): NatsUser => ({ nkey: publicKey });

/**
 * The user of one machine. It makes the calls of machines, registers itself only, receives calls to itself, and may answer
 * each of them once.
 */
export function machineUser(publicKey: string, nodeId: string): LimitedNatsUser {
  return {
    nkey: publicKey,
    permissions: {
      publish: { allow: askedByMachine(nodeId) },
      subscribe: { allow: [inboxOf(publicKey), subjectOfCall('agent.*', nodeId), NODES_CHANGES] },
      allow_responses: { max: 1, expires: ANSWER_WITHIN },
    },
  };
}

/** The user for services of another region. It makes only the calls between regions. */
export const peerRegionUser = (publicKey: string): NatsUser => ({
  nkey: publicKey,
  permissions: { publish: { allow: ['region.>'] }, subscribe: { allow: [inboxOf(publicKey)] } },
});

/** A user that reads the stream of events, by consumers or by sequence, and nothing else. */
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

/** Requests of JetStream that create, read and acknowledge consumers of EVENTS, and read it by sequence. */
const READING_EVENTS: readonly { readonly service: string; readonly response_type: 'Singleton' | 'Stream' }[] = [
  // If an account without streams of its own does not import this subject, the server answers "not enabled" to every
  // request.
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

/** The account of services and machines. */
export const WAYBILL_ACCOUNT = 'WAYBILL';
const READERS = 'READERS';

/** An account without users. Only connections that belong to it are asked about, so none that the configuration knows. */
const NOBODY = 'NOBODY';
/**
 * Seconds that nats-server gives a connection to prove itself. A `nodes` service may have to ask Kubernetes meanwhile.
 */
const ADMISSION_TIMEOUT_S = 5;

/**
 * `authorization` of nats-server's configuration: the services decide about connections whose key the configuration does
 * not know (AU-264). The server itself still admits the users of `natsAccounts`, so services do not depend on it. It reads
 * a change of this block at its start only.
 * @param issuer the public key of the account with which the services sign their answers
 * @param answering the public keys of the services that answer
 */
export const natsAdmissions = (issuer: string, answering: readonly string[]) => ({
  timeout: ADMISSION_TIMEOUT_S,
  auth_callout: { issuer, account: WAYBILL_ACCOUNT, auth_users: answering, allowed_accounts: [NOBODY] },
});

/**
 * `accounts` of nats-server's configuration. Readers of events have an account of their own, because JetStream sends
 * responses to any requested subject, which within one account could be the log's.
 */
export function natsAccounts(users: readonly NatsUser[], readers: readonly NatsUser[] = []) {
  return {
    [WAYBILL_ACCOUNT]: {
      jetstream: 'enabled',
      users,
      exports: READING_EVENTS.map((offered) => ({ ...offered, accounts: [READERS] })),
    },
    [READERS]: {
      users: readers,
      imports: READING_EVENTS.map(({ service }) => ({ service: { account: WAYBILL_ACCOUNT, subject: service } })),
    },
    [NOBODY]: {},
  };
}
