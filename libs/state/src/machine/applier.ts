import type { TxnPayloads, TxnType } from '../log/catalogue.js';
import type { Txn } from '../log/txn.js';
import type { Write } from './write.js';

/** Applies one type to the tables: throws `Refusal` to reject, else writes through `w`. Pure except for `w`. */
export type Applier<T extends TxnType> = (w: Write, payload: TxnPayloads[T], txn: Txn<T>) => void;

/** One applier for each of these types. */
export type Appliers<T extends TxnType = TxnType> = { readonly [K in T]: Applier<K> };
