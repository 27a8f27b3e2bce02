import { z } from 'zod';
import { machineCredential } from './machine-credential.js';
import { allocChecks, allocStats, collectAllocs, hostStats, readLog, restartAlloc, signalAlloc } from './agent.js';
import { readAgentLog } from './agent-log.js';
import { listFiles, readFile, statFile } from './alloc-files.js';
import { CALL_USER, type CallProtection, type CallUser } from './authority.js';
import { machineCall } from './call.js';
import { execStart } from './exec.js';
import { readNodeIdentity, renewNodeIdentity } from './node-identity.js';
import { applyNodeMeta, readNodeMeta } from './node-meta.js';

/** The calls that agents answer for users, by name. An agent has no copy of the state, so it asks what the user may do. */
export const USER_CALLS_OF_AGENTS: ReadonlyMap<string, CallProtection> = new Map(
  [
    readLog,
    allocStats,
    hostStats,
    restartAlloc,
    signalAlloc,
    collectAllocs,
    allocChecks,
    listFiles,
    statFile,
    readFile,
    execStart,
    readNodeMeta,
    applyNodeMeta,
    readNodeIdentity,
    renewNodeIdentity,
    readAgentLog,
  ].map((one): [string, CallProtection] => [one.name, one]),
);

export interface UserMayRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  /** Name of the call that was made to the machine. */
  readonly Call: string;
  /** ID of the machine's allocation that the call is about; empty if it is about the machine. */
  readonly AllocID: string;
  readonly User: CallUser;
  /** Lowest index of the state that is used: it has the machine's allocations. */
  readonly MinStateIndex: number;
}
export interface UserMayResponse {
  readonly Allowed: boolean;
}

/** Whether a user may make a call to the machine (OP-172). Machines ask it about calls to themselves. */
export const userMay = machineCall<UserMayRequest, UserMayResponse>('nodes.userMay', {
  NodeID: z.string(),
  SecretID: machineCredential,
  Call: z.string().max(64),
  AllocID: z.string().max(64),
  User: CALL_USER,
  MinStateIndex: z.number(),
});
