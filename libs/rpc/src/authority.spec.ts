import { describe, expect, it } from 'vitest';
import * as rpc from './index.js';
import { type Authority, authorityOf, type Call, isProtected, USER_CALLS_OF_AGENTS } from './index.js';

const isCall = (value: unknown): value is Call<unknown, unknown> =>
  typeof value === 'object' && value !== null && 'name' in value && 'timeoutMs' in value;
const exported: unknown[] = [
  ...Object.values(rpc),
  ...[...Object.values(rpc.CSI_CONTROLLER), ...Object.values(rpc.CSI_NODE)].map(({ call }) => call),
];
const CALLS = exported.filter(isCall);

/** Calls that need no authority, each with the reason. Machines and other regions prove who they are themselves. */
const UNPROTECTED = [
  // Workers: they hand over evaluations by the token of their delivery.
  'broker.dequeue',
  'broker.ack',
  'broker.nack',
  'broker.finish',
  'broker.updateEval',
  'broker.createEval',
  'broker.reblockEval',
  'broker.submitPlan',
  'broker.reap',
  // A question about the broker itself.
  'broker.reached',
  // An open session is named by its secret ID; it was opened with a right.
  'agent.execRead',
  'agent.execWrite',
  'agent.execEnd',
  // The rest of an answer to a request that the machine itself has sent.
  'agent.taskAnswerPiece',
  // Events for the audit log, which any service may add and none can read or remove.
  'api.recordRoleEvents',
  // Figures without names of users' objects.
  'agent.readMachineMetrics',
];

describe('the authority of a call', () => {
  it('AU-253, OP-172: each call of a service carries the authority of a user or of a role, but for those with a reason', () => {
    const isOfService = (call: Call<unknown, unknown>): boolean => !call.betweenRegions && call.request === undefined;
    const unprotected = CALLS.filter((call) => isOfService(call) && !isProtected(call)).map(({ name }) => name);
    expect(unprotected.toSorted()).toEqual(UNPROTECTED.toSorted());
    expect(CALLS.filter(isProtected).length).toBeGreaterThan(40);
  });

  it('AU-257: calls to plugins on machines are made by the holder of "volumes", and by nobody else', () => {
    const fenced = CALLS.filter(({ fencedBy }) => fencedBy !== undefined);
    expect(new Set(fenced.map(({ fencedBy }) => fencedBy))).toEqual(new Set(['volumes']));
    expect(fenced.map(({ name }) => name).filter((name) => !/^agent\.(csi|hostVolume)/.test(name))).toEqual([]);
    expect(CALLS.filter(({ name }) => /^agent\.(csi|hostVolume)/.test(name)).every(isProtected)).toBe(true);
  });

  it('OP-172: an agent can ask about each of its calls that users make', () => {
    const ofUsers = CALLS.filter(({ name, userNeeds }) => name.startsWith('agent.') && userNeeds !== undefined);
    expect(ofUsers.map(({ name }) => name).toSorted()).toEqual([...USER_CALLS_OF_AGENTS.keys()].toSorted());
  });

  it('travels as text, and anything else in its place is refused', () => {
    const all: Authority[] = [
      { fence: { Role: 'volumes', Epoch: 7, Holder: 'host-1' } },
      { user: { Kind: 'everybody' } },
      { user: { Kind: 'anonymous', AtIndex: 3 } },
      { user: { Kind: 'token', AccessorID: 'a', AtIndex: 3 } },
      { user: { Kind: 'workload', AllocID: 'a', Task: '', AtIndex: 3 } },
      { user: { Kind: 'node', NodeID: 'n', AtIndex: 3 } },
    ];
    for (const authority of all) expect(authorityOf(JSON.stringify(authority))).toEqual(authority);
    expect(authorityOf('')).toBeUndefined();
    const bad = [
      'x',
      '{}',
      'null',
      '{"user":{"Kind":"management"}}',
      '{"user":{"Kind":"token","AccessorID":"a"}}',
      '{"user":{"Kind":"token","AccessorID":"a","AtIndex":-1}}',
      '{"user":{"Kind":"everybody"},"fence":{"Role":"volumes","Epoch":1,"Holder":"h"}}',
      `{"user":{"Kind":"node","NodeID":"${'n'.repeat(257)}","AtIndex":1}}`,
    ];
    for (const text of bad) expect(() => authorityOf(text), text).toThrow('Permission denied');
  });
});
