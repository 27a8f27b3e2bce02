import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { deleteVariable } from '../../api/changes.js';
import type { VariableDecrypted } from '../../api/contract.js';
import { variableQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { type ObjectName, objectAddress, readObjectAddress } from '../../app/object-address.js';
import { Action } from '../../components/action.js';
import { Answer } from '../../components/answer.js';
import buttons from '../../components/buttons.module.css';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { Card, PageHead, Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { counted } from '../../words/sizes.js';
import { FolderPath } from './folder-path.js';
import { VariableForm } from './variable-form.js';
import { VariableItems } from './variable-items-table.js';

const route = getRouteApi('/variables/$variable');

/** One variable: its items, hidden until they are asked for, and the way to change them. */
export function VariablePage() {
  const name = readObjectAddress(route.useParams().variable);
  const { edit } = route.useSearch();
  const { id, namespace } = name;
  const variable = useQuery(variableQuery(name));
  const mayWrite = useMay({ route: 'writeVariable', namespace, path: id });
  const navigate = route.useNavigate();
  const params = { variable: objectAddress(name) };
  return (
    <>
      <PageHead title={id} above={<FolderPath path={id} />}>
        {variable.data && edit === undefined && (
          <>
            {mayWrite === true && (
              <Link to="/variables/$variable" params={params} search={{ edit: 'items' }} className={buttons['button']}>
                Edit
              </Link>
            )}
            <Action
              needs={{ route: 'deleteVariable', namespace, path: id }}
              label="Delete"
              tone="danger"
              title={`Delete the variable ${id}?`}
              text="Its values are gone. Templates that read it wait until it exists again."
              run={async () => {
                await deleteVariable(name, variable.data.ModifyIndex);
                await navigate({ to: '/variables' });
              }}
            />
          </>
        )}
      </PageHead>
      <Answer of={variable}>
        {(read) => (edit === undefined ? <VariableView variable={read} /> : <Edited name={name} newest={read} />)}
      </Answer>
    </>
  );
}

function VariableView({ variable }: { readonly variable: VariableDecrypted }) {
  const items = variable.Items ?? {};
  return (
    <>
      <Card>
        <Facts
          of={{
            Namespace: variable.Namespace,
            Created: <TimeAgo time={variable.CreateTime} />,
            Changed: <TimeAgo time={variable.ModifyTime} />,
            Index: variable.ModifyIndex,
            'Locked by': variable.Lock && <code>{variable.Lock.ID}</code>,
          }}
        />
      </Card>
      <Section title="Items" note={counted(Object.keys(items).length, 'item')}>
        <VariableItems items={items} />
      </Section>
    </>
  );
}

/** The form keeps the version with which it began; a newer one is loaded only when asked for. */
function Edited({ name, newest }: { readonly name: ObjectName; readonly newest: VariableDecrypted }) {
  const [begun, setBegun] = useState(newest);
  const navigate = route.useNavigate();
  const leave = (): void => void navigate({ search: {} });
  return (
    <>
      {begun.ModifyIndex !== newest.ModifyIndex && (
        <Problem title="The variable has changed" reasons={['Somebody else has saved another version meanwhile.']}>
          <button type="button" className={buttons['button']} onClick={() => setBegun(newest)}>
            Load the newest version
          </button>{' '}
          What you have written here is lost then.
        </Problem>
      )}
      <VariableForm
        key={begun.ModifyIndex}
        isNew={false}
        name={name}
        items={begun.Items ?? {}}
        checkIndex={begun.ModifyIndex}
        onSaved={leave}
      >
        <button type="button" className={buttons['button']} onClick={leave}>
          Cancel
        </button>
      </VariableForm>
    </>
  );
}
