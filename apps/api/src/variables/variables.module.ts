import { Module } from '@nestjs/common';
import { VariablesController } from './variables.controller.js';

@Module({ controllers: [VariablesController] })
export class VariablesModule {}
