// `npm run access-matrix`: writes docs/access-matrix.md, what each route of the API needs of its caller.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { accessMatrix } from '../apps/api/dist/access/access-matrix.js';
import { declaredRoutes } from '../apps/api/dist/access/declared-routes.decorator.js';
import { RESOURCES } from '../apps/api/dist/api.module.js';
import { root } from './source-tree.mjs';

const routes = declaredRoutes(RESOURCES);
const page = path.join(root, 'docs', 'access-matrix.md');
writeFileSync(page, accessMatrix(routes));
console.log(`${routes.length} routes and parts written to ${path.relative(process.cwd(), page)}`);
