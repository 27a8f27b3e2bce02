import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Allocation } from '../../api/contract.js';
import { allocationQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import buttons from '../../components/buttons.module.css';
import { shortId } from '../../components/object-links.js';
import { Card, PageHead } from '../../components/page.js';
import { commandWords } from './exec-messages.js';
import { type Session, TerminalView } from './terminal-view.js';
import styles from './terminal-page.module.css';

const route = getRouteApi('/allocations/$id/terminal');

const SHELL = '/bin/sh';

/** A command in a running task, with a terminal for it. It begins when the reader says so. */
export function TerminalPage() {
  const { id } = route.useParams();
  return (
    <>
      <PageHead
        title="Terminal"
        above={<Link to="/allocations/$id" params={{ id }}>{`Allocation ${shortId(id)}`}</Link>}
        about="The command runs in the task, as the task's user, and ends when you leave this page."
      />
      <Answer of={useQuery(allocationQuery(id))}>{(alloc) => <TerminalOf alloc={alloc} />}</Answer>
    </>
  );
}

function TerminalOf({ alloc }: { readonly alloc: Allocation }) {
  const { task: wanted } = route.useSearch();
  const [session, setSession] = useState<Session>();
  const [ending, setEnding] = useState<string>();
  const tasks = Object.keys(alloc.AllocatedResources.Tasks);
  return (
    <>
      <Card>
        <form
          className={styles['form']}
          onSubmit={(event) => {
            event.preventDefault();
            const values = new FormData(event.currentTarget);
            const text = (name: string): string => {
              const value = values.get(name);
              return typeof value === 'string' ? value : '';
            };
            setEnding(undefined);
            setSession({ allocation: alloc.ID, task: text('task'), command: commandWords(text('command')) });
          }}
        >
          <label>
            Task
            <select name="task" defaultValue={wanted !== undefined && tasks.includes(wanted) ? wanted : tasks[0]}>
              {tasks.map((task) => (
                <option key={task}>{task}</option>
              ))}
            </select>
          </label>
          <label>
            Command
            <input name="command" defaultValue={SHELL} required autoComplete="off" spellCheck={false} />
          </label>
          <button type="submit" className={`${buttons['button']} ${buttons['main']}`}>
            {session === undefined ? 'Start' : 'Start anew'}
          </button>
        </form>
      </Card>
      <p className={styles['note']} role="status">
        {ending ?? (session === undefined ? '' : 'F6 leaves the terminal; every other key goes to the command.')}
      </p>
      {session !== undefined && <TerminalView session={session} onEnd={setEnding} />}
    </>
  );
}
