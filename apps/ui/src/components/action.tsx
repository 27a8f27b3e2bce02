import { Dialog } from '@base-ui/react/dialog';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { type Needed, useMay } from '../api/rights.js';
import styles from './buttons.module.css';
import { Failure } from './failure.js';

interface ActionProps {
  /** The right without which the button is not offered. */
  readonly needs: Needed;
  /** What the button says, also the one that confirms. */
  readonly label: string;
  /** The question, and what will come of it. */
  readonly title: string;
  readonly text: string;
  readonly tone?: 'main' | 'danger';
  /** Fields of the dialog; their values reach `run` by name. */
  readonly fields?: ReactNode;
  readonly run: (values: FormData) => Promise<unknown>;
}

/**
 * A button that asks before it changes something, and stays open with the reason when that was refused. Callers who may
 * not do it do not see it.
 */
export function Action({ needs, ...action }: ActionProps) {
  return useMay(needs) === true && <OfferedAction {...action} />;
}

function OfferedAction({ label, title, text, tone, fields, run }: Omit<ActionProps, 'needs'>) {
  const [isOpen, setOpen] = useState(false);
  const change = useMutation({ mutationFn: run, onSuccess: () => setOpen(false) });
  const open = (opened: boolean): void => {
    if (opened) change.reset();
    setOpen(opened);
  };
  const look = `${styles['button']} ${tone === undefined ? '' : styles[tone]}`;
  return (
    <Dialog.Root open={isOpen} onOpenChange={open}>
      <Dialog.Trigger className={look}>{label}</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles['backdrop']} />
        <Dialog.Popup className={styles['popup']}>
          <Dialog.Title>{title}</Dialog.Title>
          <Dialog.Description className={styles['text']}>{text}</Dialog.Description>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              change.mutate(new FormData(event.currentTarget));
            }}
          >
            {fields !== undefined && <div className={styles['fields']}>{fields}</div>}
            {change.isError && <Failure error={change.error} />}
            <div className={styles['choices']}>
              <Dialog.Close className={styles['button']}>Cancel</Dialog.Close>
              <button type="submit" className={look} disabled={change.isPending}>
                {change.isPending ? 'Working…' : label}
              </button>
            </div>
          </form>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
