import { writeFileSync } from 'node:fs';
import { commandReference, REFERENCE_FILE } from './command-reference.js';

writeFileSync(new URL(`../../../${REFERENCE_FILE}`, import.meta.url), await commandReference());
