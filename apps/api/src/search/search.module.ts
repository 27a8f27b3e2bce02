import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { PrefixSearch } from './prefix-search.js';
import { SearchController } from './search.controller.js';

@Module({
  controllers: [SearchController],
  providers: [made(PrefixSearch, ({ model }) => new PrefixSearch(model))],
})
export class SearchModule {}
