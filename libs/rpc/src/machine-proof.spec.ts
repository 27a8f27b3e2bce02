import { describe, expect, it } from 'vitest';
import { decodeMachineProof, encodeMachineProof, MAX_MACHINE_PROOF, MachineProofError } from './machine-proof.js';

const PROOF = {
  node: '4f3a9c2e-0000-4000-8000-000000000003',
  secret: '4f3a9c2e-0000-4000-8000-000000000004',
  name: 'db-7',
  pool: 'default',
};

describe('the proof of a machine', () => {
  it('AU-264: is one text, with and without an introduction', () => {
    const introduced = { ...PROOF, introduction: 'e30.e30.x' };
    expect([PROOF, introduced].map((proof) => decodeMachineProof(encodeMachineProof(proof)))).toEqual([
      PROOF,
      introduced,
    ]);
  });

  it('AU-264: may have a node id without the digits of a version, as registrations may', () => {
    const machine = { ...PROOF, node: '11111111-2222-3333-4444-555555555555' };
    expect(decodeMachineProof(encodeMachineProof(machine))).toEqual(machine);
  });

  it('AU-264: that nats-server would cut off is refused without being shown', () => {
    const introduction = 'x'.repeat(MAX_MACHINE_PROOF);
    expect(() => encodeMachineProof({ ...PROOF, introduction })).toThrow(MachineProofError);
    expect(() => encodeMachineProof({ ...PROOF, introduction })).not.toThrow(/xxx/);
  });

  it.each([
    ['nothing', ''],
    ['another word', 'hello'],
    ['a node id that is part of a subject', JSON.stringify({ ...PROOF, node: '*' })],
    ['a node id with a dot', JSON.stringify({ ...PROOF, node: `${PROOF.node}.x` })],
    ['a node id with a line behind it', JSON.stringify({ ...PROOF, node: `${PROOF.node}\n` })],
    ['no secret', JSON.stringify({ ...PROOF, secret: '' })],
    ['a number as the name', JSON.stringify({ ...PROOF, name: 1 })],
    ['too long a text', JSON.stringify({ ...PROOF, introduction: 'x'.repeat(MAX_MACHINE_PROOF) })],
  ])('AU-264: is not read from %s', (_what, text) => {
    expect(decodeMachineProof(text)).toBeUndefined();
  });
});
