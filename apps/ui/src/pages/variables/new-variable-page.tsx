import { getRouteApi, Link } from '@tanstack/react-router';
import { objectAddress } from '../../app/object-address.js';
import buttons from '../../components/buttons.module.css';
import { PageHead } from '../../components/page.js';
import { FolderPath } from './folder-path.js';
import { VariableForm } from './variable-form.js';

const route = getRouteApi('/variables/new');

/** A variable that does not exist yet. */
export function NewVariablePage() {
  const { folder = '', namespace = 'default' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHead title="New variable" above={<FolderPath path={folder} />} />
      <VariableForm
        isNew
        name={{ id: folder, namespace }}
        items={{}}
        checkIndex={0}
        onSaved={(name) =>
          void navigate({ to: '/variables/$variable', params: { variable: objectAddress(name) }, replace: true })
        }
      >
        <Link to="/variables" search={folder === '' ? {} : { folder }} className={buttons['button']}>
          Cancel
        </Link>
      </VariableForm>
    </>
  );
}
