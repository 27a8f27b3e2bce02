import { Module } from '@nestjs/common';
import { AclDisabledController } from './acl-disabled.controller.js';

@Module({ controllers: [AclDisabledController] })
export class AclModule {}
