import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesBelow } from '../../../scripts/source-tree.mjs';
import { render } from '../../../scripts/kustomize.mjs';
import type { Manifest } from './manifests.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The overlay as it is rendered after `change` of each of its kustomization.yaml, as an operator edits a copy. */
export function renderChanged(overlay: string, change: (text: string) => string): Manifest[] {
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'waybill-overlay-'));
  try {
    cpSync(path.join(root, 'k8s'), path.join(folder, 'k8s'), { recursive: true });
    for (const file of filesBelow(`k8s/overlays/${overlay}`, /kustomization\.yaml$/)) {
      writeFileSync(path.join(folder, file), change(readFileSync(path.join(root, file), 'utf8')));
    }
    return render(path.join(folder, 'k8s/overlays', overlay));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The overlay production with every component that it offers in a comment. */
export const productionWithAll = (): Manifest[] =>
  renderChanged('production', (text) => text.replaceAll(/^( *)# (- \.\.\/\.\.\/\.\.\/components\/)/gm, '$1$2'));
