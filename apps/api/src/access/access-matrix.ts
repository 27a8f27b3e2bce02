import type { GuardedRoute } from './guarded-routes.js';
import type { LabelPlace } from './needs.js';

/** The words say where a request names the object of the right. */
const CHECKED_FOR: Record<LabelPlace, string> = {
  nowhere: '',
  query: 'the namespace of the query',
  path: 'the name in the path',
  body: 'what the query or the body names',
  object: 'the namespace of the object',
  list: 'each row of the answer',
};

/** These are parts that the handler does not know. The table needs no row for them. */
const isNoRoute = ({ Part, Requirement }: GuardedRoute): boolean => Part === '*' && Requirement.kind === 'management';

/** Returns the page `docs/access-matrix.md`: what each route needs, as it is declared beside its path. */
export function accessMatrix(routes: readonly GuardedRoute[]): string {
  const rows = new Map<string, { readonly route: GuardedRoute; readonly methods: string[] }>();
  for (const route of routes) {
    if (isNoRoute(route)) continue;
    const key = JSON.stringify([route.Path, route.Part, route.Needs, route.At, route.IgnoresToken]);
    const row = rows.get(key);
    if (row) row.methods.push(route.Method);
    else rows.set(key, { route, methods: [route.Method] });
  }
  return [
    ...HEAD,
    ...table([COLUMNS, ...[...rows.values()].map(({ route, methods }) => cellsOf(route, methods))]),
    '',
  ].join('\n');
}

const HEAD = [
  '# What each route needs',
  '',
  '`npm run access-matrix` writes this page from the declarations beside the routes; a test fails when it is out of date. A running server answers the same as JSON at `/v1/waybill/routes`. [access-control.md](access-control.md) explains tokens and policies.',
  '',
  '"Nothing" means that nobody is checked and a token is not looked at. "Any caller" means that a token, if one is sent, must be valid; what the answer shows depends on it.',
  '',
];
const COLUMNS = ['Methods', 'Path', 'Part', 'Needs', 'Checked for'];

const cellsOf = ({ Path, Part, Needs, At, IgnoresToken, Requirement }: GuardedRoute, methods: string[]): string[] => [
  methods.toSorted().join(', '),
  `\`${Path}\``,
  Part === '' ? '' : Part === '*' ? 'any other' : `\`${Part}\``,
  Requirement.kind === 'none' ? (IgnoresToken ? 'Nothing' : 'Any caller') : Needs,
  CHECKED_FOR[At],
];

/** Formats a table with columns of even width, as the formatter of the repository does. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = COLUMNS.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, at) => (cells[at] ?? '').padEnd(width)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body.map(line)];
}
