import { counted } from '../../words/sizes.js';
import styles from './room-bar.module.css';
import { isOfJob, type Machine, type Measure } from './topology.js';

interface RoomBarProps {
  readonly machine: Machine;
  readonly by: Measure;
  /** A text; the allocations of jobs with it in their ID stand out. Empty for none. */
  readonly text: string;
}

/** The room of a machine, and a part of it for each allocation. */
export function RoomBar({ machine: { allocations, offered, given }, by, text }: RoomBarProps) {
  const free = Math.max(0, offered[by] - given[by]);
  const jobs = [...new Set(allocations.map(({ jobId }) => jobId))].join(', ');
  return (
    <span className={styles['room']} title={jobs}>
      <span className={styles['bar']} aria-hidden="true">
        {allocations.map((alloc) => (
          <span
            key={alloc.id}
            className={text !== '' && isOfJob(alloc, text) ? styles['found'] : styles['given']}
            style={{ flexGrow: alloc.given[by] }}
          />
        ))}
        <span style={{ flexGrow: free }} />
      </span>
      <span className={styles['words']}>{counted(allocations.length, 'allocation')}</span>
    </span>
  );
}
