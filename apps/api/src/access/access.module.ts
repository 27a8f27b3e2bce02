import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { GuardedRoutes } from './guarded-routes.js';
import { RightsController } from './rights.controller.js';
import { RoutesController } from './routes.controller.js';

@Module({
  controllers: [RoutesController, RightsController],
  providers: [made(GuardedRoutes, ({ routes }) => routes)],
})
export class AccessModule {}
