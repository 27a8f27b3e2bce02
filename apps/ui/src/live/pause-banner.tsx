import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { schedulerConfigurationQuery } from '../api/queries.js';
import styles from './pause-banner.module.css';

/** Stands above every page while nothing is scheduled, so that nobody wonders why nothing happens. */
export function PauseBanner() {
  const { data } = useQuery(schedulerConfigurationQuery());
  if (data?.SchedulerConfig.PauseEvalBroker !== true) return undefined;
  return (
    <p className={styles['banner']} role="status">
      <strong>Scheduling is paused.</strong> What runs goes on; nothing is placed, replaced or rolled out.{' '}
      <Link to="/servers">Control plane</Link>
    </p>
  );
}
