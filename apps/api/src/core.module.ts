import { HolderWrites } from './http/holder-writes.js';
import { CurrentJobs } from './jobs/current-jobs.js';
import { TransactionWriter } from '@waybill/writing';
import { type DynamicModule, type FactoryProvider, Global, Module, type Type } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Keyring } from '@waybill/keyring';
import { ProjectionFeed, ReadModel } from '@waybill/projection';
import { NatsRpc } from '@waybill/rpc';
import { CallerWatches } from './access/caller-watch.js';
import { ApiCore } from './api-core.js';
import { ApiErrorFilter } from './http/api-error.filter.js';
import type { KnownPaths } from './http/known-paths.js';
import { RetryingRpc } from './http/retrying-rpc.js';
import { ResponseCache } from './http/response-cache.js';
import { Reads } from './http/reads.js';
import { Writer } from './writer.js';

/** CoreModule gives every controller the parts that all resources share. */
@Global()
@Module({})
export class CoreModule {
  static of(core: ApiCore, paths: KnownPaths): DynamicModule {
    const shared = [
      { provide: ApiCore, useValue: core },
      { provide: ReadModel, useValue: core.model },
      { provide: ProjectionFeed, useValue: core.parts.feed },
      { provide: Keyring, useValue: core.parts.keyring },
      { provide: Reads, useValue: core.reads },
      { provide: ResponseCache, useValue: core.cache },
      { provide: Writer, useValue: core.writer },
      { provide: TransactionWriter, useValue: core.writes },
      { provide: CurrentJobs, useValue: core.jobs },
      { provide: HolderWrites, useValue: new HolderWrites({ calls: core.calls, readable: core.readable }) },
      { provide: CallerWatches, useValue: core.watches },
      { provide: RetryingRpc, useValue: core.calls },
      { provide: NatsRpc, useValue: core.context.rpc },
    ];
    const filter = { provide: APP_FILTER, useValue: new ApiErrorFilter(core.context.logger, paths) };
    return { module: CoreModule, providers: [...shared, filter], exports: shared };
  }
}

/** Returns a provider that is made from the core, and from other providers where it needs them. */
export function made<T, const Needs extends readonly Type[]>(
  provide: Type<T>,
  make: (core: ApiCore, ...needs: { [K in keyof Needs]: InstanceType<Needs[K]> }) => T,
  ...needs: Needs
): FactoryProvider<T> {
  return { provide, inject: [ApiCore, ...needs], useFactory: make };
}

/** Returns a provider that is made only from other providers. */
export function composed<T, const Parts extends readonly Type[]>(
  provide: Type<T>,
  make: (...parts: { [K in keyof Parts]: InstanceType<Parts[K]> }) => T,
  ...parts: Parts
): FactoryProvider<T> {
  return { provide, inject: [...parts], useFactory: make };
}
