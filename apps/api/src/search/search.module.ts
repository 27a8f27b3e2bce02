import { Module } from '@nestjs/common';
import { made } from '../api-core.js';
import { PrefixSearch } from './prefix-search.js';
import { SearchController } from './search.controller.js';

@Module({
  controllers: [SearchController],
  providers: [made(PrefixSearch, ({ model }) => new PrefixSearch(model))],
})
export class SearchModule {}
