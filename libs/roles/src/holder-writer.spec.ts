import { FakeTime, NotHolderError, Refusal } from '@waybill/model';
import { draftTxn, fixtures, serviceActor, type TxnDraft, type Verdict } from '@waybill/state';
import { expect, it } from 'vitest';
import { HolderWriter } from './holder-writer.js';

const FENCE = { role: 'nodes', epoch: 7 } as const;
const PAYLOAD = { NodeID: 'n1' };

/** A writer over a log that takes everything, or answers with a verdict. */
function setup(verdict: Verdict = { kind: 'accepted' }) {
  const drafts: TxnDraft[] = [];
  let ids = 0;
  const writer = new HolderWriter(
    {
      clock: new FakeTime(fixtures.timeNs / 1e6),
      newId: () => `made-${++ids}`,
      state: { propose: async (draft) => (drafts.push(draft), { index: 40 + drafts.length, verdict }) as never },
      region: 'west',
    },
    FENCE,
  );
  return { writer, drafts };
}

it('EB-144: what a holder writes carries its role and epoch, its clock, and an id of its own', async () => {
  const { writer, drafts } = setup();
  expect(await writer.write('NodeDeregister', PAYLOAD)).toBe(41);
  expect(drafts).toEqual([
    draftTxn('NodeDeregister', PAYLOAD, {
      timeNs: fixtures.timeNs,
      requestId: 'made-1',
      actor: serviceActor('nodes'),
      reason: '',
      region: 'west',
      namespace: '',
      fence: FENCE,
    }),
  ]);
});

it('API-260: what it writes for somebody carries who asked, why, and the id of the request', async () => {
  const { writer, drafts } = setup();
  const actor = { Kind: 'anonymous', ID: '', Name: '' } as const;
  await writer.write('NodeDeregister', PAYLOAD, 'ops', { actor, reason: 'because', requestId: 'asked' });
  expect(drafts[0]).toMatchObject({ actor, reason: 'because', requestId: 'asked', namespace: 'ops', fence: FENCE });
});

it('EB-265: what the log refuses fails with its code and words', async () => {
  const { writer } = setup({ kind: 'refused', code: 'not-found', error: 'node not found: n1' });
  const failure = await writer.write('NodeDeregister', PAYLOAD).catch((error: unknown) => error);
  expect(failure).toEqual(new Refusal('not-found', 'node not found: n1'));
});

it('EB-265, ST-15: what is void because the term is over fails as a lost role does', async () => {
  const { writer } = setup({ kind: 'void', error: 'the term is over' });
  const failure = await writer.write('NodeDeregister', PAYLOAD).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(NotHolderError);
  expect(failure).toMatchObject({ message: 'the term is over', code: 'unavailable' });
});

it('closed, it writes nothing, and says why it was closed first', async () => {
  const { writer, drafts } = setup();
  writer.close(new Error('first'));
  writer.close(new Error('second'));
  await expect(writer.write('NodeDeregister', PAYLOAD)).rejects.toThrow('first');
  expect(drafts).toEqual([]);
});
