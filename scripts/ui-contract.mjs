// `npm run ui:contract`: writes apps/ui/src/api/contract.ts, the types of the API's answers, from the API's description.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openApiDocument } from '../apps/api/dist/openapi/document.js';
import { contractTypes } from './contract-types.mjs';
import { CONTRACT, root } from './source-tree.mjs';

writeFileSync(path.join(root, CONTRACT), contractTypes(/** @type {any} */ (openApiDocument())));
