import { Dialog } from '@base-ui/react/dialog';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { type KeyboardEvent, useState } from 'react';
import { callApi } from '../../api/client.js';
import { type FoundObject, foundObjects } from './found-objects.js';
import styles from './finder.module.css';

/** Shorter texts are refused (API-253). */
const LEAST_CHARACTERS = 2;

/** A field that finds any object by a part of its name or the beginning of its ID, and goes to its page. */
export function Finder({ isOpen, close }: { readonly isOpen: boolean; readonly close: () => void }) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(opened) => !opened && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles['backdrop']} />
        <Dialog.Popup className={styles['popup']} aria-label="Search">
          <Search close={close} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Search({ close }: { readonly close: () => void }) {
  const { history } = useRouter();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const { data: found = [] } = useQuery({
    queryKey: ['search', text],
    queryFn: async ({ signal }) =>
      foundObjects(
        (
          await callApi('PUT /v1/search/fuzzy', {
            query: { namespace: '*' },
            body: { Text: text, Context: 'all' },
            signal,
          })
        ).Matches,
      ),
    enabled: text.length >= LEAST_CHARACTERS,
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  const shown = text.length < LEAST_CHARACTERS ? [] : found;
  const go = (object: FoundObject | undefined): void => {
    if (!object) return;
    close();
    history.push(`/ui${object.address}`);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setChosen((before) => Math.min(shown.length - 1, Math.max(0, before + step)));
    if (event.key === 'Enter') go(shown[chosen]);
    if (step !== 0 || event.key === 'Enter') event.preventDefault();
  };
  return (
    <>
      <input
        className={styles['field']}
        role="combobox"
        aria-label="Search by name or ID"
        aria-expanded={shown.length > 0}
        aria-controls="found-objects"
        aria-activedescendant={shown.length > 0 ? `found-${chosen}` : undefined}
        placeholder="Search by name or ID"
        value={text}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setText(event.target.value.trim());
          setChosen(0);
        }}
      />
      <div id="found-objects" className={styles['found']} role="listbox" aria-label="Found">
        {shown.map((object, at) => (
          <div
            key={`${object.kind} ${object.address} ${object.name}`}
            id={`found-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === chosen}
            className={styles['option']}
            onClick={() => go(object)}
            onKeyDown={onKeyDown}
            onMouseMove={() => setChosen(at)}
          >
            <span className={styles['kind']}>{object.kind}</span>
            <span>{object.name}</span>
            <span className={styles['about']}>{object.about}</span>
          </div>
        ))}
      </div>
      {shown.length === 0 && (
        <p className={styles['note']}>
          {text.length < LEAST_CHARACTERS
            ? 'Jobs, tasks, machines, allocations, evaluations, deployments.'
            : 'Nothing is called so.'}
        </p>
      )}
    </>
  );
}
