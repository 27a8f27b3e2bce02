import { integer, mapBlock, type Schema, text } from './schema.js';

/** A variable in the form of `PUT /v1/var/<path>`. */
export const variableSchema: Schema = {
  attributes: {
    path: text('Path'),
    namespace: text('Namespace'),
    create_index: integer('CreateIndex'),
    create_time: integer('CreateTime'),
    modify_index: integer('ModifyIndex'),
    modify_time: integer('ModifyTime'),
  },
  blocks: { items: mapBlock('Items', true) },
};
