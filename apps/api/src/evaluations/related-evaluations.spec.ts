import type { Evaluation } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { relatedEvaluations } from './related-evaluations.js';

const { anEval } = fixtures;

it('EB-300: breadth first over next, previous and blocked, each once, without itself; what is gone is passed over', async () => {
  const link = (ID: string, over: Partial<Evaluation> = {}) => anEval({ ID, JobID: 'web', ...over });
  const rows = [
    link('a', { NextEval: 'b', PreviousEval: 'p', BlockedEval: 'gone' }),
    link('b', { PreviousEval: 'a', BlockedEval: 'c' }),
    link('p', { NextEval: 'a', PreviousEval: 'q' }),
    link('c', { PreviousEval: 'b' }),
    link('q', { NextEval: 'p', BlockedEval: 'c' }),
  ];
  const asked: string[] = [];
  const read = {
    jobEvaluations: async () => ({ rows: rows.filter((row) => row.ID !== 'q') }),
    evaluation: async (id: string) => {
      asked.push(id);
      return { row: rows.find((row) => row.ID === id) };
    },
  };
  const related = await relatedEvaluations(read, rows[0]!);
  expect(related.map((stub) => stub.ID)).toEqual(['b', 'p', 'c', 'q']);
  expect(asked, 'only what the read of the job did not bring').toEqual(['gone', 'q']);
  expect(related[0]).toMatchObject({ WaitUntil: null, NodeID: '', NextEval: '' }); // EB-2
});
