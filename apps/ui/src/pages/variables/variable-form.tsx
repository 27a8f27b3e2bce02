import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { writeVariable } from '../../api/changes.js';
import { namespacesQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import type { ObjectName } from '../../app/object-address.js';
import buttons from '../../components/buttons.module.css';
import { Failure } from '../../components/failure.js';
import { Card } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { type ItemRow, itemsOf, problemsOf, rowsOf } from './variable-items.js';
import styles from './variable-form.module.css';

interface VariableFormProps {
  /** The variable as it was read; its path and namespace may be chosen if it is new. */
  readonly name: ObjectName;
  readonly isNew: boolean;
  readonly items: Readonly<Record<string, string>>;
  /** The index at which the variable was read; 0 if it is new. Saving fails if it has changed since. */
  readonly checkIndex: number;
  readonly onSaved: (name: ObjectName) => void;
  /** What else can be done instead of saving. */
  readonly children: ReactNode;
}

/** The items of a variable to be written. Nothing is stored before Save. */
export function VariableForm({ name, isNew, items, checkIndex, onSaved, children }: VariableFormProps) {
  const [written, setWritten] = useState(name);
  const [rows, setRows] = useState<readonly ItemRow[]>(() => (isNew ? [EMPTY] : rowsOf(items)));
  const [problems, setProblems] = useState<readonly string[]>([]);
  const mayWrite = useMay({ route: 'writeVariable', namespace: written.namespace, path: written.id || '-' });
  const save = useMutation({
    mutationFn: (target: ObjectName) => writeVariable(target, itemsOf(rows), checkIndex),
    onSuccess: (_, target) => onSaved(target),
  });
  const change = (id: number, to: Partial<ItemRow>): void =>
    setRows((before) => before.map((row) => (row.id === id ? { ...row, ...to } : row)));
  const submit = (): void => {
    const target = { ...written, id: written.id.trim() };
    const found = problemsOf(target.id, rows);
    setProblems(found);
    if (found.length === 0) save.mutate(target);
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Card>
        <div className={styles['form']}>
          {isNew && <Place name={written} choose={setWritten} />}
          <fieldset className={styles['items']}>
            <legend>Items</legend>
            {rows.map((row, at) => (
              <div key={row.id} className={styles['item']}>
                <label>
                  Key {at + 1}
                  <input
                    value={row.key}
                    autoComplete="off"
                    spellCheck={false}
                    onChange={(event) => change(row.id, { key: event.target.value })}
                  />
                </label>
                <label>
                  Value {at + 1}
                  <textarea
                    rows={Math.min(12, row.value.split('\n').length)}
                    value={row.value}
                    autoComplete="off"
                    spellCheck={false}
                    onChange={(event) => change(row.id, { value: event.target.value })}
                  />
                </label>
                <button
                  type="button"
                  className={buttons['button']}
                  aria-label={`Remove item ${at + 1}`}
                  onClick={() => setRows((before) => before.filter(({ id }) => id !== row.id))}
                >
                  Remove
                </button>
              </div>
            ))}
            <button
              type="button"
              className={buttons['button']}
              onClick={() => setRows((before) => [...before, { ...EMPTY, id: nextId(before) }])}
            >
              Add an item
            </button>
          </fieldset>
        </div>
      </Card>
      {problems.length > 0 && (
        <div className={styles['below']}>
          <Problem title="Not saved yet" reasons={problems} />
        </div>
      )}
      {save.isError && (
        <div className={styles['below']}>
          <Failure error={save.error} />
        </div>
      )}
      <div className={styles['choices']}>
        <button
          type="submit"
          className={`${buttons['button']} ${buttons['main']}`}
          disabled={save.isPending || mayWrite === false}
        >
          Save
        </button>
        {children}
      </div>
      {mayWrite === false && (
        <p className={styles['note']}>Your token may not write a variable at this path in this namespace.</p>
      )}
    </form>
  );
}

const EMPTY: ItemRow = { id: 0, key: '', value: '' };

const nextId = (rows: readonly ItemRow[]): number => Math.max(-1, ...rows.map(({ id }) => id)) + 1;

interface PlaceProps {
  readonly name: ObjectName;
  readonly choose: (name: ObjectName) => void;
}

/** Where a new variable is stored. */
function Place({ name, choose }: PlaceProps) {
  const { data = [] } = useQuery(namespacesQuery());
  const namespaces = [...new Set([...data.map(({ Name }) => Name), name.namespace])];
  return (
    <div className={styles['place']}>
      <label>
        Path
        <input
          value={name.id}
          autoComplete="off"
          spellCheck={false}
          placeholder="nomad/jobs/web"
          onChange={(event) => choose({ ...name, id: event.target.value })}
        />
      </label>
      <label>
        Namespace
        <select value={name.namespace} onChange={(event) => choose({ ...name, namespace: event.target.value })}>
          {namespaces.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
    </div>
  );
}
