import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

/** Product code reached for the real clock, chance or a real timer during a simulation: the run could not be repeated. */
export class RealWorldError extends Error {
  override readonly name = 'RealWorldError';
  constructor(what: string) {
    super(`${what} was used during a simulation; take it from what the constructor was given`);
  }
}

const realSetImmediate = setImmediate;
const RealDate = Date;

/** Lets every promise that is decided take its effect, and what follows from it: the microtask queue is empty then. */
export const macrotask = (run: () => void): void => void realSetImmediate(run);

/** Wall clock outside of simulations, for how long runs take. */
export const realNowMs = (): number => RealDate.now();

/** A date that can be made from a time but does not know the present one. */
const datelessDate = new Proxy(RealDate, {
  construct(target, args, newTarget): object {
    if (args.length === 0) throw new RealWorldError('new Date()');
    return Reflect.construct(target, args, newTarget);
  },
  apply(): never {
    throw new RealWorldError('Date()');
  },
  get(target, name, receiver): unknown {
    return name === 'now' ? forbidden('Date.now') : Reflect.get(target, name, receiver);
  },
});

function forbidden(what: string): () => never {
  return () => {
    throw new RealWorldError(what);
  };
}

type Member = readonly [owner: object, name: string, replacement?: unknown];

/** What a run must not reach. */
const FORBIDDEN: readonly Member[] = [
  [globalThis, 'Date', datelessDate],
  [Math, 'random'],
  [globalThis, 'setTimeout'],
  [globalThis, 'setInterval'],
  [globalThis, 'setImmediate'],
  [globalThis, 'fetch'],
  [performance, 'now'],
  [process, 'hrtime'],
  [crypto, 'randomUUID'],
  [crypto, 'randomBytes'],
];

/** Replaces them by what throws. @returns the way back */
export function forbidRealWorld(): () => void {
  const undo = FORBIDDEN.map(([owner, name, replacement]) => {
    const before = Object.getOwnPropertyDescriptor(owner, name);
    Object.defineProperty(owner, name, {
      configurable: true,
      writable: true,
      value: replacement ?? forbidden(name),
    });
    return () => (before ? Object.defineProperty(owner, name, before) : Reflect.deleteProperty(owner, name));
  });
  syncBuiltinESMExports();
  return () => {
    for (const restore of undo) restore();
    syncBuiltinESMExports();
  };
}
