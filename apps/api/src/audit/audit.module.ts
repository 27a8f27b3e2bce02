import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { AuditController } from './audit.controller.js';
import { Audit } from './audit.js';

@Module({
  controllers: [AuditController],
  providers: [made(Audit, ({ parts }) => parts.audit)],
})
export class AuditModule {}
