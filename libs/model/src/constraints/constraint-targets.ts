import type { Node } from '../nodes/node.js';

/**
 * Returns the value of a target on one node, or `undefined` if the node does not have it. A text without interpolation
 * is its own value (SC-64).
 */
export function resolveTarget(target: string, node: Node): string | undefined {
  if (!target.startsWith('${')) return target;
  if (!target.endsWith('}')) return undefined;
  const name = target.slice(2, -1);
  switch (name) {
    case 'node.unique.id':
      return node.ID;
    case 'node.unique.name':
      return node.Name;
    case 'node.datacenter':
      return node.Datacenter;
    case 'node.class':
      return node.NodeClass;
    case 'node.pool':
      return node.NodePool;
    default:
      if (name.startsWith('attr.')) return own(node.Attributes, name.slice('attr.'.length));
      if (name.startsWith('meta.')) return own(node.Meta, name.slice('meta.'.length));
      return undefined;
  }
}

/** Whether the value of a target can differ between nodes of one computed class (SC-51). */
export function escapesClass(target: string): boolean {
  return ['${unique.', '${node.unique.', '${attr.unique.', '${meta.unique.'].some((prefix) =>
    target.startsWith(prefix),
  );
}

function own(map: Record<string, string>, key: string): string | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}
