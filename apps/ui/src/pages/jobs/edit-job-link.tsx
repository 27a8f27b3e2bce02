import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { jobSubmissionQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { objectAddress, type ObjectName } from '../../app/object-address.js';
import buttons from '../../components/buttons.module.css';
import { textOfSubmission } from '../run/job-text.js';

interface EditJobLinkProps {
  readonly name: ObjectName;
  readonly version: number;
}

/** Leads to the editor with the file of a job's newest version, if the job has one and the reader may run it. */
export function EditJobLink({ name, version }: EditJobLinkProps) {
  const { data } = useQuery(jobSubmissionQuery(name, version));
  const mayRun = useMay({ route: 'runJob', namespace: name.namespace });
  if (!data || textOfSubmission(data) === undefined || mayRun !== true) return undefined;
  return (
    <Link to="/jobs/run" search={{ job: objectAddress(name) }} className={buttons['button']}>
      Edit
    </Link>
  );
}
