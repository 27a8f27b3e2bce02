import { type Claims, TokenRefusedError } from '@waybill/keyring';
import { FakeTime, type Node } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { nodesWriter } from '../node/nodes-writer.js';
import { introductionVerdict } from './introduction-verdict.js';
import { Introductions } from './introductions.js';

const NOW_S = 1_800_000_000;
const claims = (over: Claims = {}): Claims => ({
  aud: 'nomadproject.io',
  sub: 'node-introduction:global:default::default',
  nomad_node_pool: 'default',
  nomad_node_name: '',
  exp: NOW_S + 300,
  jti: 't1',
  ...over,
});
const node = fixtures.aNode({ ID: 'n1', Name: 'm1', NodePool: 'default' });
const NOBODY = () => [];
const WITHOUT = 'node registration without introduction token';
const MISMATCH = 'node registration introduction claims mismatch';
const BAD = 'node registration introduction authentication failure';

describe('whether a new machine may register', () => {
  it('AU-203: without a token, only strict refuses, and warn reports it', () => {
    expect(introductionVerdict(node, 'none', 'none', NOBODY)).toEqual({ isAllowed: true });
    expect(introductionVerdict(node, 'none', 'warn', NOBODY)).toEqual({ isAllowed: true, violation: WITHOUT });
    expect(introductionVerdict(node, 'none', 'strict', NOBODY)).toEqual({ isAllowed: false, violation: WITHOUT });
  });

  it.each(['warn', 'strict'] as const)('AU-203, AU-204: a wrong token is refused by %s', (enforcement) => {
    const verdict = (introduction: Claims | 'invalid') => introductionVerdict(node, introduction, enforcement, NOBODY);
    expect(verdict('invalid')).toEqual({ isAllowed: false, violation: BAD });
    for (const wrong of [
      { aud: 'vault.io' },
      { sub: 'global:default:web:web:web:default' },
      { sub: undefined },
      { exp: undefined },
      { jti: undefined },
    ] as Claims[])
      expect(verdict(claims(wrong))).toEqual({ isAllowed: false, violation: BAD });
    for (const wrong of [{ nomad_node_pool: 'gpu' }, { nomad_node_pool: undefined }, { nomad_node_name: 'm2' }])
      expect(verdict(claims(wrong))).toEqual({ isAllowed: false, violation: MISMATCH });
    expect(verdict(claims())).toEqual({ isAllowed: true });
  });

  it.each(['warn', 'strict'] as const)(
    'AU-203: %s admits by the identity of that very node, and of no other',
    (enforcement) => {
      const identity = { sub: 'node:global:default:n1:default', nomad_node_id: 'n1', jti: undefined };
      expect(introductionVerdict(node, claims(identity), enforcement, NOBODY)).toEqual({ isAllowed: true });
      const ofOther = claims({ ...identity, nomad_node_id: 'n2' });
      expect(introductionVerdict(node, ofOther, enforcement, NOBODY)).toEqual({
        isAllowed: false,
        violation: MISMATCH,
      });
    },
  );

  it('AU-203: none asks for nothing, not even of a wrong token', () => {
    expect(introductionVerdict(node, 'invalid', 'none', NOBODY)).toEqual({ isAllowed: true });
  });

  it('AU-201: a token with a name is good for one machine, and is remembered until clocks agree that it has ended', () => {
    expect(introductionVerdict(node, claims({ nomad_node_name: 'm1' }), 'strict', NOBODY)).toEqual({
      isAllowed: true,
      use: { TokenID: 't1', NodeID: 'n1', KeepUntil: (NOW_S + 300 + 3_600) * 1e9 },
    });
  });
});

function setup(enforcement: 'none' | 'warn' | 'strict' = 'strict') {
  const state = new LocalState(fixtures.aMachine());
  const time = new FakeTime(NOW_S * 1_000);
  let [ids, violations] = [0, 0];
  const known = new Map([
    ['named', claims({ nomad_node_name: 'm1' })],
    ['open', claims()],
  ]);
  const introductions = new Introductions({
    state,
    keyring: {
      verifyJwt: async (token) => {
        const found = known.get(token);
        if (!found) throw new TokenRefusedError('unknown');
        return found;
      },
    },
    writer: nodesWriter(state, { clock: time, newId: () => `r${ids++}`, region: 'global' }),
    logger: silentLogger,
    enforcement,
    violation: () => violations++,
  });
  const admit = (over: Partial<Node>, token?: string): Promise<string> =>
    introductions.admit({ ...node, ...over }, token, undefined).then(
      () => 'admitted',
      (error: unknown) => (error as Error).message,
    );
  return { state, admit, violations: () => violations };
}

describe('introductions', () => {
  it('AU-201: the name of a token is good for one new node, however often that one tries', async () => {
    const { state, admit } = setup();
    expect([await admit({}, 'named'), await admit({}, 'named')]).toEqual(['admitted', 'admitted']);
    expect(await admit({ ID: 'n2' }, 'named')).toBe('Permission denied');
    expect([...state.tables.node_introductions.all()].map(({ NodeID }) => NodeID)).toEqual(['n1']);
    expect([await admit({ ID: 'n2' }, 'open'), await admit({ ID: 'n3' }, 'open')]).toEqual(['admitted', 'admitted']);
  });

  it('AU-203, AU-205: violations are counted and refused; a stored machine is not asked', async () => {
    const { state, admit, violations } = setup();
    expect([await admit({}), await admit({}, 'made up'), await admit({ NodePool: 'gpu' }, 'open')]).toEqual([
      'Permission denied',
      'Permission denied',
      'Permission denied',
    ]);
    expect(violations()).toBe(3);
    state.tables.nodes.replace(node.ID, node);
    expect([await admit({}), await admit({}, 'made up'), violations()]).toEqual(['admitted', 'admitted', 3]);
  });

  it('AU-202: by default a machine without a token is reported and admitted', async () => {
    const { admit, violations } = setup('warn');
    expect([await admit({}), violations(), await admit({}, 'made up')]).toEqual(['admitted', 1, 'Permission denied']);
  });
});
