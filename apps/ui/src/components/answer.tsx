import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from './failure.js';
import { Waiting } from './page.js';

interface AnswerProps<T> {
  readonly of: UseQueryResult<T>;
  readonly children: (data: T) => ReactNode;
}

/** An answer when it is there. One that could not be read anew is shown as it was, below the reason. */
export function Answer<T>({ of, children }: AnswerProps<T>) {
  if (of.data === undefined) return of.isError ? <Failure error={of.error} /> : <Waiting />;
  return (
    <>
      {of.isError && <Failure error={of.error} />}
      {children(of.data)}
    </>
  );
}
