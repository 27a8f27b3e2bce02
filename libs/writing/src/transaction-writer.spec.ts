import { ConflictError } from '@waybill/journal';
import { NotHolderError, Refusal } from '@waybill/model';
import type { Proposed, ProposeOptions, TxnDraft, Verdict } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { asHolder, asNode, asService, onBehalfOf } from './author.js';
import { type Decision, MAX_CONFLICTS, TransactionWriter } from './transaction-writer.js';

const PURGE: Decision = { type: 'NodeDeregister', payload: { NodeID: 'n1' } };
const AUTHOR = asService('nodes');

/** A writer over a log that answers with these, one after the other; then it accepts everything. */
function setup(...answers: readonly (Verdict | Error)[]) {
  const written: { readonly draft: TxnDraft; readonly options: ProposeOptions }[] = [];
  const caughtUp: number[] = [];
  let ids = 0;
  const propose = async (draft: TxnDraft, options: ProposeOptions = {}): Promise<Proposed> => {
    written.push({ draft, options });
    const answer = answers[written.length - 1] ?? { kind: 'accepted' };
    if (answer instanceof Error) throw answer;
    return { index: 10 + written.length, verdict: answer };
  };
  const writer = new TransactionWriter({
    log: { propose },
    clock: { nowMs: () => 1_234 },
    newId: () => `id-${++ids}`,
    region: 'west',
    caughtUp: async (index) => caughtUp.push(index),
  });
  return { writer, written, caughtUp };
}

const conflictAt = (actual: number): ConflictError => new ConflictError('TXN.node.n1', 0, actual);

describe('an envelope', () => {
  it('API-260, ST-3, ST-6: says when, where, by whom and why, under an id of its own', async () => {
    const { writer, written } = setup();
    await writer.write({ ...PURGE, namespace: 'ops' }, asNode({ ID: 'n1', Name: 'one' }, 'trace'));
    await writer.write({ ...PURGE, region: 'east' }, AUTHOR);
    expect(written.map(({ draft }) => draft)).toMatchObject([
      {
        timeNs: 1_234e6,
        requestId: 'id-1',
        region: 'west',
        namespace: 'ops',
        traceparent: 'trace',
        actor: { Kind: 'node' },
      },
      { requestId: 'id-2', region: 'east', namespace: '', actor: { Kind: 'role', ID: 'nodes' }, fence: undefined },
    ]);
  });

  it("ST-15, DP-1806: a holder's carries its term, one for a user that user and the request's id", async () => {
    const { writer, written } = setup();
    const fence = { role: 'nodes', epoch: 3 } as const;
    await writer.write(PURGE, asHolder(fence));
    const Actor = { Kind: 'token', ID: 't', Name: 'ann' } as const;
    await writer.write(PURGE, onBehalfOf({ Actor, Reason: 'because', RequestID: 'r' }, undefined));
    expect(written.map(({ draft }) => draft)).toMatchObject([
      { fence, actor: { ID: 'nodes' } },
      { actor: Actor, reason: 'because', requestId: 'r' },
    ]);
  });
});

describe('a verdict', () => {
  it('is the index and the result; a second copy is told apart', async () => {
    const { writer } = setup({ kind: 'accepted', result: true }, { kind: 'noop' });
    expect(await writer.write(PURGE, AUTHOR)).toEqual({ index: 11, isNoop: false, result: true });
    expect(await writer.write(PURGE, AUTHOR)).toEqual({ index: 12, isNoop: true, result: undefined });
  });

  it('EB-265: that refuses is thrown with its code, one that is void as a lost role', async () => {
    const { writer } = setup(
      { kind: 'refused', code: 'not-found', error: 'node not found: n1' },
      { kind: 'void', error: 'stale epoch' },
    );
    await expect(writer.write(PURGE, AUTHOR)).rejects.toEqual(new Refusal('not-found', 'node not found: n1'));
    await expect(writer.write(PURGE, AUTHOR)).rejects.toEqual(new NotHolderError('stale epoch'));
  });
});

describe('a commit', () => {
  it('ND-31, API-116: is decided anew on what another write left, on the condition that the log then names', async () => {
    const { writer, written, caughtUp } = setup(conflictAt(8), conflictAt(9));
    const rows = [5, 8, 9];
    const { row, written: accepted } = await writer.commit(
      AUTHOR,
      () => ({ row: rows.shift(), sequence: 5 }),
      (stored) => ({ type: 'NodeDeregister', payload: { NodeID: `decided on ${stored}` } }),
    );
    expect(written.map(({ draft, options }) => [draft.payload, options.expectedLastSubjectSequence])).toEqual([
      [{ NodeID: 'decided on 5' }, 5],
      [{ NodeID: 'decided on 8' }, 8],
      [{ NodeID: 'decided on 9' }, 9],
    ]);
    expect([row, accepted?.index, caughtUp]).toEqual([9, 13, [8, 9]]);
  });

  it('is given up after MAX_CONFLICTS, and says so', async () => {
    const { writer, written } = setup(...Array.from({ length: MAX_CONFLICTS + 1 }, (_, n) => conflictAt(n + 1)));
    const commit = writer.commit(
      AUTHOR,
      () => ({ row: 0, sequence: 0 }),
      () => PURGE,
    );
    await expect(commit).rejects.toMatchObject({
      code: 'conflict',
      message: 'too many writes to the same object; try again',
    });
    expect(written).toHaveLength(MAX_CONFLICTS + 1);
  });

  it('writes nothing where there is nothing to decide, and nothing but a refusal where that is thrown', async () => {
    const { writer, written } = setup();
    const seen = () => ({ row: 'row', sequence: 3 });
    const nothing = await writer.commit(AUTHOR, seen, () => undefined);
    expect(nothing).toEqual({ row: 'row', decision: undefined, written: undefined });
    const refuse = () => {
      throw new Refusal('invalid', 'no');
    };
    await expect(writer.commit(AUTHOR, seen, refuse)).rejects.toThrow('no');
    expect(written).toEqual([]);
  });

  it('of a decision that does not depend on the object has no condition', async () => {
    const { writer, written } = setup();
    await writer.commit(
      AUTHOR,
      () => ({ row: 0, sequence: 3 }),
      () => ({ ...PURGE, isUnconditional: true }),
    );
    expect(written.map(({ options }) => options)).toEqual([{}]);
  });

  it('fails as the log fails', async () => {
    const { writer } = setup(new Error('the log is gone'));
    await expect(
      writer.commit(
        AUTHOR,
        () => ({ row: 0, sequence: 3 }),
        () => PURGE,
      ),
    ).rejects.toThrow('the log is gone');
  });
});
