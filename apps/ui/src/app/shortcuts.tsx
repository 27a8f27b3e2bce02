import { Dialog } from '@base-ui/react/dialog';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useHotkeys } from 'react-hotkeys-hook';
import buttons from '../components/buttons.module.css';
import { CLUSTER, WORK } from './navigation.js';
import styles from './shell.module.css';

const PAGES = [...WORK, ...CLUSTER];

/** Other shortcuts, in the words of the list. The search button and the editor listen to theirs. */
const OTHERS = [
  ['Ctrl K', 'Find a job, a machine, an allocation …'],
  ['/', 'Go to the search field of the page'],
  ['?', 'Show this list'],
] as const;

/**
 * A shortcut is ignored where a letter is a letter. An editor stands in a shadow root, whose host is what the event names
 * as its target, so the innermost element decides.
 */
function isTyped(event: KeyboardEvent): boolean {
  const [innermost] = event.composedPath();
  return innermost instanceof HTMLElement && innermost.isContentEditable;
}

/** Listens to the shortcuts of all pages, and lists them. */
export function Shortcuts() {
  const [isOpen, setOpen] = useState(false);
  const navigate = useNavigate();
  useHotkeys(
    PAGES.map(([, , letter]) => `g>${letter}`),
    (event) => {
      if (isTyped(event)) return; // the library asks `ignoreEventWhen` for single keys only
      const page = PAGES.find(([, , letter]) => letter === event.key.toLowerCase());
      if (page) void navigate({ to: page[0] });
    },
    { useKey: true },
  );
  // On some keyboards these are typed with Shift, on some without.
  useHotkeys(['/', 'shift+/'], focusSearch, { useKey: true, preventDefault: true, ignoreEventWhen: isTyped });
  useHotkeys(['?', 'shift+?'], () => setOpen(true), { useKey: true, ignoreEventWhen: isTyped });
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger className={styles['shortcuts']}>
        Shortcuts <kbd>?</kbd>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className={buttons['backdrop']} />
        <Dialog.Popup className={buttons['popup']}>
          <Dialog.Title>Shortcuts</Dialog.Title>
          <dl className={styles['keys']}>
            {PAGES.map(([to, title, letter]) => (
              <Shortcut key={to} keys={`G ${letter.toUpperCase()}`} does={title} />
            ))}
            {OTHERS.map(([keys, does]) => (
              <Shortcut key={keys} keys={keys} does={does} />
            ))}
          </dl>
          <div className={buttons['choices']}>
            <Dialog.Close className={buttons['button']}>Close</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

const Shortcut = ({ keys, does }: { readonly keys: string; readonly does: string }) => (
  <div>
    <dt>
      {keys.split(' ').map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </dt>
    <dd>{does}</dd>
  </div>
);

const focusSearch = (): void => document.querySelector<HTMLInputElement>('main input[type="search"]')?.focus();
