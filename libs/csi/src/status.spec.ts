import { status as ofGrpc } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { nameOf, status } from './status.js';

it('has the codes that gRPC has', () => {
  const named = Object.entries(ofGrpc).filter(([name]) => Number.isNaN(Number(name)));
  expect(Object.entries(status)).toEqual(named);
});

it('says them as CSI plugins do', () => {
  const { CANCELLED, FAILED_PRECONDITION, INTERNAL } = status;
  expect([CANCELLED, FAILED_PRECONDITION, INTERNAL, 99].map(nameOf)).toEqual([
    'Canceled',
    'FailedPrecondition',
    'Internal',
    'Unknown',
  ]);
});
