import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { AllocationsController } from './allocations.controller.js';
import { StopAllocation } from './stop-allocation.js';

@Module({
  controllers: [AllocationsController],
  providers: [
    made(StopAllocation, ({ writes, model, context }) => {
      const allocation = async (id: string) => (await model.allocation(id)).row;
      return new StopAllocation(writes, allocation, context.newId);
    }),
  ],
})
export class AllocationsModule {}
