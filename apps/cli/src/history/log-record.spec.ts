import { describe, expect, it } from 'vitest';
import { Display } from '../terminal/display.js';
import { type ChangedObject, type TxnRecord, effectOf, authorOf } from './log-record.js';

const record = (over: Partial<TxnRecord>): TxnRecord => ({
  Index: 7,
  Time: 0,
  Name: 'JobRegister',
  Actor: { Kind: 'anonymous', ID: '', Name: 'anonymous' },
  RequestID: '',
  Reason: '',
  TraceID: '',
  SpanID: '',
  Role: '',
  Epoch: 0,
  Verdict: 'accepted',
  Error: '',
  Objects: [],
  ...over,
});
const object = (Kind: string, Change = ''): ChangedObject => ({ Kind, Namespace: '', ID: 'x', Op: 'update', Change });

const became = (of: TxnRecord, asked: readonly string[]) => effectOf(of, asked, new Display(false, 0));

describe('a row of the log', () => {
  it('CL-1022: who did it', () => {
    const ID = '0f9e8d7c-0000-4000-8000-000000000002';
    expect(authorOf(record({}))).toBe('anonymous');
    expect(authorOf(record({ Actor: { Kind: 'node', ID, Name: 'worker-1' } }))).toBe('node:0f9e8d7c');
    expect(authorOf(record({ Actor: { Kind: 'token', ID, Name: 'ci' } }))).toBe('ci');
    expect(authorOf(record({ Actor: { Kind: 'token', ID, Name: '' } }))).toBe('0f9e8d7c');
    expect(authorOf(record({ Role: 'broker', Epoch: 7 }))).toBe('broker@7');
  });

  it('CL-1023: what became of the object, or how many objects of which kind', () => {
    expect(became(record({ Objects: [object('job', 'version 2 -> 3')] }), ['job', 'x'])).toBe('version 2 -> 3');
    expect(became(record({ Objects: [object('job', 'version 2 -> 3')] }), ['job'])).toBe('x: version 2 -> 3');
    const Objects = [object('alloc'), object('alloc'), object('alloc'), object('eval'), object('deployment')];
    expect(became(record({ Objects }), [])).toBe('3 allocs, 1 eval, 1 deployment');
    expect(became(record({ Verdict: 'refused', Error: 'node not found' }), ['node', 'x'])).toBe(
      'refused: node not found',
    );
    expect(became(record({ Verdict: 'void', Error: 'epoch 6 < 7' }), [])).toBe('void: epoch 6 < 7');
  });
});
