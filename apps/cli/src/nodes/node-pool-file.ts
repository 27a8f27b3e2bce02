import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { type ExactJson, membersOf, parseExact } from '../terminal/exact-json.js';
import { parseNodePools } from '@waybill/jobspec';
import { causeOf, CommandFailure } from '../failure.js';
import { explained, sourceName } from '../jobs/hcl-text.js';
import { textMember } from '../jobs/job-file.js';

/** The body of `PUT /v1/node/pools`. */
export interface GivenNodePool {
  readonly name: string;
  readonly body: { readonly [member: string]: ExactJson };
}

/** Attributes of the block and their names in the API. */
const MEMBERS: Readonly<Record<string, string>> = {
  description: 'Description',
  meta: 'Meta',
  node_identity_ttl: 'NodeIdentityTTL',
  scheduler_config: 'SchedulerConfiguration',
};

/** Reads the specification at `path`, or from stdin (`-`). @throws CommandFailure */
export async function readNodePoolFile(path: string): Promise<GivenNodePool> {
  const source = await (path === '-' ? textOf(process.stdin) : readFile(path, 'utf8')).catch((error: unknown) => {
    throw new CommandFailure(`Failed to read input: ${causeOf(error)}`);
  });
  try {
    return source.trimStart().startsWith('{') ? poolOfJson(source) : poolOfHcl(source, path);
  } catch (error) {
    throw new CommandFailure(`Failed to parse input content: ${explained(error)}`);
  }
}

/** @throws an error that names the problem */
function poolOfHcl(text: string, path: string): GivenNodePool {
  const pools = parseNodePools({ name: sourceName(path), text });
  const [pool] = pools;
  if (!pool || pools.length > 1) throw new Error(`exactly one node_pool is needed, not ${pools.length}`);
  const body = membersOf(pool);
  return { name: textMember(body, 'Name') ?? '', body };
}

/** Decodes the block `node_pool "<name>" {…}` in its JSON form. @throws an error that names the problem */
function poolOfJson(source: string): GivenNodePool {
  const blocks = Object.entries(membersOf(membersOf(parseExact(source))['node_pool']));
  const [block] = blocks;
  if (!block || blocks.length > 1) throw new Error(`exactly one node_pool is needed, not ${blocks.length}`);
  const [name, attributes] = block;
  const given = Object.entries(membersOf(attributes)).map(([key, value]) => {
    const member = MEMBERS[key];
    if (member === undefined) throw new Error(`node_pool "${name}" has no argument "${key}"`);
    return [member, value] as const;
  });
  return { name, body: { Name: name, ...Object.fromEntries(given) } };
}

/** The files of `node pool init`: the same pool in both languages. */
export const EXAMPLE_HCL = `# A set of nodes that jobs ask for by its name: node_pool = "example".
node_pool "example" {
  description = "Example node pool"

  # Free-form: who owns the machines, what they are for.
  meta {
    environment = "prod"
    owner       = "sre"
  }
}
`;
export const EXAMPLE_JSON = `{
  "node_pool": {
    "example": {
      "description": "Example node pool",
      "meta": {
        "environment": "prod",
        "owner": "sre"
      }
    }
  }
}
`;
