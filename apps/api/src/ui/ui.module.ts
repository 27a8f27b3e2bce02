import { Module } from '@nestjs/common';
import { PageFiles } from './page-files.store.js';
import { UiController } from './ui.controller.js';

@Module({ controllers: [UiController], providers: [{ provide: PageFiles, useFactory: () => new PageFiles() }] })
export class UiModule {}
