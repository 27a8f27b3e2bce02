import { fixtures, StateMachine, TABLE_NAMES, type TxnPayloads } from '@waybill/state';
import { expect, it } from 'vitest';
import { foldBatch } from './batch.js';

/** What one batch of such transactions makes of the rows of a table. */
function evalsOf(
  machine: StateMachine,
  ...payloads: TxnPayloads['EvalUpdate'][]
): ReturnType<typeof foldBatch>['tables'] {
  return foldBatch(payloads.map((payload) => fixtures.apply(machine, 'EvalUpdate', payload))).tables;
}

it('a row of a batch is written once, as the last transaction left it', () => {
  const machine = fixtures.aMachine();
  const made = fixtures.anEval({ ID: 'e1', JobID: 'made' });
  const stored = fixtures.anEval({ ID: 'e2', JobID: 'stored' });
  evalsOf(machine, { Evals: [stored] });
  const said = (StatusDescription: string) => ({ Evals: [made, stored].map((one) => ({ ...one, StatusDescription })) });
  const evals = evalsOf(machine, said('once'), said('twice')).find(({ table }) => table === 'evals');
  expect(evals).toMatchObject({
    inserts: [{ ID: 'e1', StatusDescription: 'twice' }],
    updates: [{ ID: 'e2', StatusDescription: 'twice' }],
    removes: [],
  });
});

it('a row that was there before the batch is updated though it was gone in between, and one that came and went is not written', () => {
  const machine = fixtures.aMachine();
  const node = fixtures.aNode({ ID: 'n1' });
  const first = fixtures.apply(machine, 'NodeRegister', { Node: node, CreateNodePool: true });
  const gone = fixtures.apply(machine, 'NodeDeregister', { NodeID: 'n1' });
  const again = fixtures.apply(machine, 'NodeRegister', { Node: node, CreateNodePool: true });
  const nodes = (batch: Parameters<typeof foldBatch>[0]) =>
    foldBatch(batch).tables.find(({ table }) => table === 'nodes') ?? { inserts: [], updates: [], removes: [] };
  expect(nodes([first]).inserts).toHaveLength(1);
  expect(nodes([gone, again])).toMatchObject({ inserts: [], updates: [{ ID: 'n1' }], removes: [] });
  expect(nodes([first, gone])).toMatchObject({ inserts: [], updates: [], removes: [] });
  expect(nodes([gone])).toMatchObject({ inserts: [], updates: [], removes: [{ ID: 'n1' }] });
});

it('ST-7: a batch with a hole, or of nothing, is not folded: what is missing would never be stored', () => {
  const machine = fixtures.aMachine();
  const [first, missing, third] = [1, 2, 3].map((n) =>
    fixtures.apply(machine, 'EvalUpdate', { Evals: [fixtures.anEval({ ID: `e${n}`, JobID: `j${n}` })] }),
  );
  const { index } = missing!;
  expect(() => foldBatch([first!, third!])).toThrow(
    new RangeError(`transaction ${index + 1} in a batch where ${index} is next`),
  );
  expect(() => foldBatch([first!, first!])).toThrow(RangeError);
  expect(() => foldBatch([])).toThrow(new RangeError('a batch needs at least one transaction'));
  const { from, to } = foldBatch([first!, missing!, third!]);
  expect([from, to]).toEqual([index - 2, index + 1]);
});

it('ST-27: a restore of an archive moves the index of every table, and a later transaction those of its tables', () => {
  const machine = fixtures.aMachine();
  const archive = { Archive: 'a', SHA256: '', Bytes: 0, Index: 1, Tables: {} };
  const restored = fixtures.apply(machine, 'StateRestore', archive);
  const later = fixtures.apply(machine, 'EvalUpdate', { Evals: [fixtures.anEval({ ID: 'e1' })] });
  const stored = Object.fromEntries(foldBatch([restored, later]).tableIndexes.map(({ name, index }) => [name, index]));
  expect(stored).toEqual(Object.fromEntries(TABLE_NAMES.map((name) => [name, machine.tables[name].tableIndex])));
  expect([stored['nodes'], stored['evals']]).toEqual([restored.index, later.index]);
});
