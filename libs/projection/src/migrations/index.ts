import { CreateTables1763690000000 } from './create-tables.js';

/** Oldest first. Classes, not file patterns: nothing is looked up on disk at run time. */
export const migrations = [CreateTables1763690000000];
