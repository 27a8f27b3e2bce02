// Filter expressions in the language of go-bexpr, decided about a job and a node.
import {
  Filter,
  FilterEvaluationError,
  FilterSyntaxError,
  FilterTooExpensiveError,
} from '../../../libs/model/dist/index.js';
import { fixtures } from '../../../libs/state/dist/index.js';
import { declaring, same, timed } from '../harness.mjs';

const objects = [fixtures.aJob({ Meta: { owner: 'a team' } }), fixtures.aNode(), fixtures.anAlloc()];

export const fuzz = timed((data) => {
  const text = data.toString('utf8');
  const filter = declaring([FilterSyntaxError], () => Filter.parse(text));
  if (filter === undefined) return;
  for (const object of objects) {
    const decide = () => declaring([FilterEvaluationError, FilterTooExpensiveError], () => filter.matches(object));
    same('the same decision', decide(), decide());
  }
});

export const seeds = () => [
  'ID == "a" and not (Status != running or "x" in Datacenters)',
  'any TaskGroups as g { g.Name matches "^w(eb|orker)+$" and g.Count == 2 }',
  'all Meta as k, v { k contains `owner` } or Meta is not empty',
  'Attributes["kernel.name"] == linux and Drivers.exec.Healthy == true',
  '"/TaskGroups/0/Name" == "web" or Priority == 50 and Name not matches "[^a-z]{2,3}?"',
];
