import { lazy, Suspense, useState } from 'react';
import { useHotkeys } from 'react-hotkeys-hook';
import styles from './shell.module.css';

const Finder = lazy(async () => ({ default: (await import('../pages/search/finder.js')).Finder }));

/** Opens the search, as ⌘K and Ctrl K do. It is loaded when it is first opened. */
export function SearchButton() {
  const [wasOpened, setOpened] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const open = (): void => {
    setOpened(true);
    setOpen(true);
  };
  useHotkeys('mod+k', open, { preventDefault: true, enableOnFormTags: true, enableOnContentEditable: true });
  return (
    <>
      <button type="button" className={styles['search']} onClick={open}>
        Search <kbd>Ctrl K</kbd>
      </button>
      {wasOpened && (
        <Suspense>
          <Finder isOpen={isOpen} close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
