import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { decodeMachineProof } from '@waybill/rpc';
import { readSettings } from '@waybill/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { machineProofOf } from './machine-proof.store.js';

const NODE = '4f3a9c2e-0000-4000-8000-000000000003';
const SECRET = '4f3a9c2e-0000-4000-8000-000000000004';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-proof-'));
  put('client-id', NODE);
  put('secret-id', SECRET);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const put = (name: string, text: string): void => writeFileSync(path.join(dir, name), text);
const proofOf = (env: Record<string, string> = {}) => {
  const own = { WAYBILL_AGENT_DIR: dir, WAYBILL_NODE_NAME: 'm1', WAYBILL_NODE_POOL: 'gpu', WAYBILL_NATS_PROOF: 'true' };
  return machineProofOf(readSettings({ ...own, ...env }, []), env);
};
const introductionOf = (env?: Record<string, string>) => decodeMachineProof(proofOf(env)?.() ?? '')?.introduction;

describe('the proof of this machine for NATS', () => {
  it('AU-264: is made only where it is asked for', () => {
    expect(proofOf({ WAYBILL_NATS_PROOF: 'false' })).toBeUndefined();
    expect(decodeMachineProof(proofOf()?.() ?? '')).toEqual({ node: NODE, secret: SECRET, name: 'm1', pool: 'gpu' });
  });

  it('AU-264, AU-206: has the first introduction of environment, given file, own file and signed identity', () => {
    const file = path.join(dir, 'given');
    put('node-identity.jwt', 'identity\n');
    expect(introductionOf()).toBe('identity');
    put('intro_token.jwt', 'own\n');
    expect(introductionOf()).toBe('own');
    put('given', 'given\n');
    expect(introductionOf({ WAYBILL_CLIENT_INTRO_TOKEN_FILE: file })).toBe('given');
    const env = { WAYBILL_CLIENT_INTRO_TOKEN_FILE: file, WAYBILL_CLIENT_INTRO_TOKEN: 'env' };
    expect(introductionOf(env)).toBe('env');
  });

  it('AU-264: reads its files for each attempt, because Kubernetes replaces a token', () => {
    const proof = proofOf();
    const seen = () => decodeMachineProof(proof?.() ?? '')?.introduction;
    put('intro_token.jwt', 'first');
    expect(seen()).toBe('first');
    put('intro_token.jwt', 'second');
    expect(seen()).toBe('second');
    rmSync(path.join(dir, 'intro_token.jwt'));
    expect(seen()).toBeUndefined();
  });
});
