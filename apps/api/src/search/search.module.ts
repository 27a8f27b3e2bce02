import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { FuzzySearch } from './fuzzy-search.js';
import { PrefixSearch } from './prefix-search.js';
import { SearchController } from './search.controller.js';

@Module({
  controllers: [SearchController],
  providers: [
    made(PrefixSearch, ({ model }) => new PrefixSearch(model)),
    made(FuzzySearch, ({ model }, byPrefix) => new FuzzySearch(model, byPrefix), PrefixSearch),
  ],
})
export class SearchModule {}
