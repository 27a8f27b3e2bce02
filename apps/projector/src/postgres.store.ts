import { BatchWriter, loadSnapshot, type SetAsideRow, SetAsideRows, type SharedTexts } from '@waybill/projection';
import type { Applied, StateMachine } from '@waybill/state';
import type { Pool } from 'pg';
import type { ProjectionStore } from './projection-store.js';

export class PostgresStore implements ProjectionStore {
  private readonly writer: BatchWriter;

  constructor(private readonly pool: Pool) {
    this.writer = new BatchWriter(pool);
  }

  load(machine: StateMachine): Promise<number> {
    return loadSnapshot(this.pool, machine);
  }

  write(
    applied: readonly Applied[],
    texts: SharedTexts,
    framed: number,
    published?: Promise<void>,
  ): Promise<readonly SetAsideRow[]> {
    return this.writer.write(applied, texts, framed, published);
  }

  framedIndex(): Promise<number> {
    return this.writer.framedIndex();
  }

  setAside(): Promise<number> {
    return new SetAsideRows(this.pool).count();
  }
}
