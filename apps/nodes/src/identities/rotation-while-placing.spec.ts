import { randomBytes } from 'node:crypto';
import { AeadWrapper, Keyring, newRootKey } from '@waybill/keyring';
import { decodeJob, FakeTime } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { MAX_IDENTITIES_PER_CALL, type SignedIdentity } from '@waybill/rpc';
import { activeRootKey, fixtures } from '@waybill/state';
import { decodeProtectedHeader } from 'jose';
import { expect, it } from 'vitest';
import { IdentitySigning } from './identity-signing.js';

const PLACEMENTS = 1_000;
const PLAN = 100;
/** A rotation comes after so many plans. */
const PLANS_PER_KEY = 3;

/** The test signs a thousand tokens, which takes many seconds on a busy machine. */
const LONG_MS = 60_000;

it(
  'AU-322: the root key rotates while a thousand allocations are placed: every token verifies, by the key that its allocation names',
  { timeout: LONG_MS },
  async () => {
    const state = new LocalState(fixtures.aMachine());
    const { machine } = state;
    const wrapper = new AeadWrapper(randomBytes(32));
    const nowMs = fixtures.timeNs / 1e6;
    const { root_keys: rows } = state.tables;
    const keyring = new Keyring({
      wrapper,
      keys: { find: (id) => rows.get(id), active: () => activeRootKey(state.tables), all: () => rows.all() },
      nowMs: () => nowMs,
    });
    const rotate = async (n: number): Promise<void> => {
      const said = {
        KeyID: fixtures.uuid(n),
        State: 'active',
        CreateTime: fixtures.timeNs + n,
        PublishTime: 0,
      } as const;
      const Key = await newRootKey(wrapper, said);
      expect(fixtures.apply(machine, 'RootKeyUpsert', { Key, Rekey: false, MustExist: false }).verdict.kind).toBe(
        'accepted',
      );
    };
    const node = fixtures.aNode();
    fixtures.apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    const Tasks = [{ Name: 'main', Driver: 'exec', Identity: { Env: true } }];
    const given = { ID: 'web', TaskGroups: [{ Name: 'app', Count: PLACEMENTS, Tasks }] };
    const { job, evaluation } = fixtures.aRegisteredJob(
      machine,
      decodeJob(given, { region: 'global', submitTimeNs: 1 }),
    );
    const clock = new FakeTime(nowMs);
    const signing = new IdentitySigning({ state, keyring, clock, newId: () => 'fresh', issuer: '' });
    const tokensOf = async (ids: readonly string[]): Promise<readonly SignedIdentity[]> => {
      const Identities = ids.map(
        (AllocID) => ({ AllocID, WorkloadType: 'task', Workload: 'main', Identity: 'default' }) as const,
      );
      const asked = { NodeID: node.ID, SecretID: node.SecretID, MinStateIndex: 0, Identities };
      return (await signing.sign(asked)).Signed;
    };

    await rotate(1);
    const early: SignedIdentity[] = [];
    for (let at = 0; at < PLACEMENTS / PLAN; at++) {
      const placed = Array.from({ length: PLAN }, () =>
        fixtures.anAlloc({ Job: job, TaskGroup: 'app', NodeID: node.ID }),
      );
      fixtures.apply(
        machine,
        'ApplyPlanResults',
        fixtures.aPlanResult({ AllocsUpdated: placed, EvalID: evaluation.ID }),
      );
      early.push(...(await tokensOf(placed.slice(0, 1).map(({ ID }) => ID))));
      if (at % PLANS_PER_KEY === 0) await rotate(2 + at);
    }
    const allocs = [...state.tables.allocs.all()];
    const signed: SignedIdentity[] = [];
    for (let from = 0; from < allocs.length; from += MAX_IDENTITIES_PER_CALL)
      signed.push(...(await tokensOf(allocs.slice(from, from + MAX_IDENTITIES_PER_CALL).map(({ ID }) => ID))));
    expect(signed).toHaveLength(PLACEMENTS);
    const keys = new Set(allocs.map(({ SigningKeyID }) => SigningKeyID));
    expect(keys.size).toBe(Math.ceil(PLACEMENTS / PLAN / PLANS_PER_KEY)); // nothing was placed after the last rotation
    for (const { AllocID, JWT } of [...early, ...signed]) {
      expect(decodeProtectedHeader(JWT).kid).toBe(state.tables.allocs.get(AllocID)?.SigningKeyID);
      expect(await keyring.verifyJwt(JWT)).toMatchObject({ nomad_allocation_id: AllocID });
    }
    for (const { AllocID, JWT } of early) expect(signed).toContainEqual(expect.objectContaining({ AllocID, JWT }));
  },
);
