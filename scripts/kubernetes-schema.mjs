// Validates Kubernetes objects against the schemas bundled in kubernetes-models, unknown keys included; those of the
// Prometheus operator and of cert-manager against their own.
//
// The schemas are there only as compiled validators, and those let unknown keys pass. A validator asks an object for every
// key that its schema knows (or lists all keys, where the schema says "any key"). So the object is handed over behind
// proxies that note which keys were asked for: what is in the object but was never asked for, the schema does not know.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * @typedef {{ path: string, message: string }} Finding `path` as in `/spec/replicas`
 */

/**
 * What is wrong with one object.
 *
 * @param {any} object a parsed manifest
 * @param {{ partial?: boolean }} [options] partial: a patch, which may leave out what the whole must have
 * @returns {Finding[]}
 */
export function findingsIn(object, { partial = false } = {}) {
  const validate = validatorOf(object?.apiVersion, object?.kind);
  if (validate === undefined) return [{ path: '', message: `no schema for ${object?.apiVersion} ${object?.kind}` }];
  const watch = new KeyWatch();
  const invalid = errorsOf(() => validate.call(watch.over(object)));
  return [
    ...invalid
      .filter((error) => !(partial && error.keyword === 'required'))
      .map((error) => ({ path: error.instancePath, message: error.message ?? error.keyword })),
    ...watch.unknownKeys(object, ''),
  ];
}

/**
 * @param {unknown} apiVersion
 * @param {unknown} kind
 * @returns {(() => void) | undefined} to be called with the object as `this`
 */
function validatorOf(apiVersion, kind) {
  for (const schemas of [
    'kubernetes-models',
    '@kubernetes-models/prometheus-operator',
    '@kubernetes-models/cert-manager',
  ]) {
    try {
      return require(`${schemas}/${String(apiVersion)}/${String(kind)}`)[String(kind)].prototype.validate;
    } catch {} // not one of theirs
  }
  return undefined;
}

/**
 * @typedef {{ instancePath: string, keyword: string, message?: string }} SchemaError
 * @param {() => void} validate
 * @returns {SchemaError[]}
 */
function errorsOf(validate) {
  try {
    validate();
    return [];
  } catch (error) {
    if (error instanceof Error && 'errors' in error && Array.isArray(error.errors)) return error.errors;
    throw error;
  }
}

/** Notes which keys of an object, at any depth, are read. */
class KeyWatch {
  /** @type {Map<object, Set<string>>} */
  #read = new Map();
  /** @type {Set<object>} */
  #listed = new Set();
  /** @type {Map<object, object>} */
  #proxies = new Map();

  /** @param {any} value @returns {any} the value, watched */
  over(value) {
    if (value === null || typeof value !== 'object') return value;
    const known = this.#proxies.get(value);
    if (known !== undefined) return known;
    const read = new Set();
    this.#read.set(value, read);
    const proxy = new Proxy(value, {
      get: (target, key) => {
        if (typeof key === 'string') read.add(key);
        return this.over(Reflect.get(target, key));
      },
      ownKeys: (target) => {
        this.#listed.add(target);
        return Reflect.ownKeys(target);
      },
    });
    this.#proxies.set(value, proxy);
    return proxy;
  }

  /**
   * @param {any} value
   * @param {string} path
   * @returns {Finding[]}
   */
  unknownKeys(value, path) {
    if (value === null || typeof value !== 'object') return [];
    const read = this.#read.get(value);
    // Never looked at: the key that leads here is what is unknown, or the schema takes any value here.
    if (read === undefined) return [];
    return Object.entries(value).flatMap(([key, child]) => {
      if (!Array.isArray(value) && !read.has(key) && !this.#listed.has(value)) {
        return [{ path: `${path}/${key}`, message: 'is no key that the schema knows' }];
      }
      return this.unknownKeys(child, `${path}/${key}`);
    });
  }
}
