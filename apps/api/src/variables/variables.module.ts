import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { VariablesController } from './variables.controller.js';
import { Variables } from './variables.js';

@Module({
  controllers: [VariablesController],
  providers: [
    made(
      Variables,
      ({ model, writes, calls, parts: { keyring } }) => new Variables({ model, writes, keyring, rpc: calls }),
    ),
  ],
})
export class VariablesModule {}
