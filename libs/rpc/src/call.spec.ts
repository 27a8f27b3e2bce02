import { Refusal } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { checkRequest } from './call.js';
import { heartbeat, listPreviousDisk, namedServices, nodeAllocs, purgeNode, updateAllocs } from './nodes.js';
import { claimVolume } from './volumes.js';

const OWN = { NodeID: 'n1', SecretID: 's1' };

/** What a request is refused with; undefined: it is taken. */
function refusalOf(call: Parameters<typeof checkRequestOf>[0], request: unknown): string | undefined {
  try {
    checkRequestOf(call, request);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'invalid') return error.message;
    throw error;
  }
}
const checkRequestOf = (call: { readonly request?: Parameters<typeof checkRequest>[0] }, request: unknown): void =>
  checkRequest(call.request, request);

describe('the shape of what machines ask', () => {
  it('what an agent sends is taken, with members of a newer release', () => {
    expect(refusalOf(heartbeat, { ...OWN, Status: 'ready', Since: 1 })).toBeUndefined();
    expect(refusalOf(nodeAllocs, { ...OWN, MinQueryIndex: 0, MaxQueryTimeMs: 10, MinStateIndex: 0 })).toBeUndefined();
    expect(refusalOf(updateAllocs, { ...OWN, Allocs: [], After: 7 })).toBeUndefined();
  });

  it.each([
    ['nothing', heartbeat, null, 'invalid request: '],
    ['a number', heartbeat, 5, 'invalid request: '],
    ['no secret', heartbeat, { NodeID: 'n1', Status: 'ready' }, 'invalid request.SecretID: '],
    [
      'a path that is no text',
      listPreviousDisk,
      { ...OWN, AllocID: 'a', Path: {}, After: '' },
      'invalid request.Path: ',
    ],
    [
      'a wait that is no number',
      namedServices,
      { ...OWN, AllocID: 'a', ServiceName: 'w', MinQueryIndex: [] },
      'invalid request.MinQueryIndex: ',
    ],
    ['no finite number', updateAllocs, { ...OWN, Allocs: [], After: Number.NaN }, 'invalid request.After: '],
    [
      'a mode of claims that there is not',
      claimVolume,
      { SecretID: 's', VolumeID: 'v', AllocationID: 'a', NodeID: 'n', ExternalNodeID: '', Claim: 9 },
      'invalid request.Claim: ',
    ],
  ])('%s is refused by its path', (_, call, request, text) => {
    expect(refusalOf(call, request)).toContain(text);
  });

  it('what only services ask is believed', () => {
    expect(refusalOf(purgeNode, null)).toBeUndefined();
  });
});
