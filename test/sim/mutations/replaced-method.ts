import { StateMachine, type Tables, type Txn } from '@waybill/state';

/** Anything that can be called. */
type Method = (...args: never[]) => unknown;

/** Of a class, the prototype; private methods too, which is why the name is not checked by the compiler. */
interface HasPrototype {
  readonly prototype: object;
}

/**
 * For the length of a run, a method of a product class does something else: `replacement` gets what it did before.
 * Product code knows nothing of mutations. @throws TypeError if there is no such method (any more)
 */
export function replaceMethod(
  owner: HasPrototype,
  name: string,
  replacement: (original: Method) => (this: never, ...args: never[]) => unknown,
): () => void {
  const before = Object.getOwnPropertyDescriptor(owner.prototype, name);
  if (typeof before?.value !== 'function') throw new TypeError(`there is no method ${name} to replace`);
  Object.defineProperty(owner.prototype, name, { ...before, value: replacement(before.value as Method) });
  return () => void Object.defineProperty(owner.prototype, name, before);
}

/** Has every copy of the state apply another transaction in place of some. Returns a function that undoes it. */
export const replaceTxn = (change: (txn: Txn, tables: Tables) => Txn): (() => void) =>
  replaceMethod(
    StateMachine,
    'apply',
    (original) =>
      function (this: StateMachine, txn: Txn) {
        return Reflect.apply(original, this as never, [change(txn, this.tables) as never]);
      } as never,
  );
