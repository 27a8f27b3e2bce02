import * as t from './schema.js';

const address = t.plain({ Address: t.text, ID: t.text });

/** The schemas of answers to operators: servers in the form of Raft and autopilot, and workers of schedulers. */
export const OPERATOR_SCHEMAS: Readonly<Record<string, t.JsonSchema>> = {
  RaftConfiguration: t.plain({ Servers: t.listOf(t.ref('RaftServer')), Index: t.uint }),
  RaftServer: t.plain({
    ID: t.text,
    Node: t.text,
    Address: t.text,
    Leader: t.flag,
    Voter: t.flag,
    RaftProtocol: t.text,
  }),
  RootKeyMeta: t.plain({
    KeyID: t.text,
    Algorithm: t.text,
    CreateTime: t.int,
    CreateIndex: t.uint,
    ModifyIndex: t.uint,
    State: t.text,
    PublishTime: t.int,
  }),
  PublicJwk: t.plain({ kty: t.text, kid: t.text, alg: t.text, use: t.text, n: t.text, e: t.text }),
  OpenIdConfiguration: t.plain({
    issuer: t.text,
    jwks_uri: t.text,
    id_token_signing_alg_values_supported: t.listOf(t.text),
    response_types_supported: t.listOf(t.text),
    subject_types_supported: t.listOf(t.text),
  }),
  ControlPlane: t.plain({
    LogIndex: t.uint,
    AppliedIndex: t.uint,
    ProjectionLag: t.uint,
    EventsLag: t.uint,
    Roles: t.listOf(t.plain({ Role: t.text, Holder: t.text, Epoch: t.uint, SinceIndex: t.uint, IsHeld: t.flag })),
    Services: t.listOf(t.plain({ Service: t.text, Host: t.text })),
    Queues: t.nullable(
      t.plain({
        Ready: t.uint,
        Unacked: t.uint,
        Pending: t.uint,
        Waiting: t.uint,
        Cancelable: t.uint,
        Blocked: t.uint,
        Escaped: t.uint,
        Plans: t.uint,
      }),
    ),
  }),
  ProjectionStanding: t.plain({
    Index: t.uint,
    Count: t.uint,
    SetAside: t.listOf(
      t.plain({
        Part: t.text,
        Object: t.text,
        Index: t.uint,
        Name: t.text,
        Time: t.int,
        SQLState: t.text,
        Error: t.text,
      }),
    ),
  }),
  ProjectionRetried: t.plain({ Stored: t.uint, Left: t.uint }),
  ProjectionRebuilt: t.plain({ Index: t.uint, HistoryFrom: t.uint }),
  LeadershipTransfer: t.plain({ From: address, To: address, Noop: t.flag, Err: t.anything }),
  AutopilotConfiguration: t.plain({
    CleanupDeadServers: t.flag,
    LastContactThreshold: t.text,
    MaxTrailingLogs: t.uint,
    MinQuorum: t.uint,
    ServerStabilizationTime: t.text,
    EnableRedundancyZones: t.flag,
    DisableUpgradeMigration: t.flag,
    EnableCustomUpgrades: t.flag,
    CreateIndex: t.uint,
    ModifyIndex: t.uint,
  }),
  OperatorHealthReply: t.plain({
    Healthy: t.flag,
    FailureTolerance: t.int,
    Leader: t.text,
    Voters: t.listOf(t.text),
    Servers: t.listOf(
      t.plain({
        ID: t.text,
        Name: t.text,
        Address: t.text,
        SerfStatus: t.text,
        Version: t.text,
        Leader: t.flag,
        LastContact: t.text,
        LastTerm: t.uint,
        LastIndex: t.uint,
        Healthy: t.flag,
        Voter: t.flag,
        StableSince: t.time,
      }),
    ),
  }),
  SchedulerWorkers: t.plain({
    server_id: t.text,
    schedulers: t.listOf(
      t.plain({
        id: t.text,
        enabled_schedulers: t.listOf(t.text),
        started: t.time,
        status: t.text,
        workload_status: t.text,
      }),
    ),
  }),
  SchedulerWorkerPool: t.plain({ server_id: t.text, num_schedulers: t.int, enabled_schedulers: t.listOf(t.text) }),
};
