import { Module } from '@nestjs/common';
import { ServicesController } from './services.controller.js';

/** ServicesModule has the services of the built-in provider. */
@Module({ controllers: [ServicesController] })
export class ServicesModule {}
