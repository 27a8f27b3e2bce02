// What goes wrong in a plugin, by method, read from a file at each call so that a test can change it while it runs:
//   { "NodePublishVolume": { "code": 14, "times": 3 }, "NodeUnstageVolume": { "slowMs": 500 } }
// code: refuses, the first `times` times (default: always) · slowMs: does it, late · never: does it, and does not answer
// crash: its process dies, before it does it
// forget: answers, and does nothing · twice: does it twice, as when a call arrives again (gRPC itself takes one answer)
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {{ code?: number, times?: number, slowMs?: number, never?: boolean, crash?: boolean, forget?: boolean, twice?: boolean }} Fault
 */

export class Faults {
  /** @param {string} root */
  constructor(root) {
    this.file = path.join(root, 'faults.json');
    /** @type {Map<string, number>} */
    this.refused = new Map();
  }

  /** @param {Record<string, Fault>} faults */
  set(faults) {
    writeFileSync(this.file, JSON.stringify(faults));
  }

  /**
   * @param {string} method
   * @returns {Fault}
   */
  of(method) {
    if (!existsSync(this.file)) return {};
    const fault = JSON.parse(readFileSync(this.file, 'utf8'))[method];
    if (!fault) return {};
    if (fault.code === undefined) return fault;
    const key = method + JSON.stringify(fault);
    const before = this.refused.get(key) ?? 0;
    this.refused.set(key, before + 1);
    return before < (fault.times ?? Infinity) ? fault : {};
  }
}
