import { useQuery } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import { ownTokenQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { Answer } from '../../components/answer.js';
import { Empty, PageHead } from '../../components/page.js';
import { Tabs } from '../../components/tabs.js';

/** The accessor ID that everybody has while access control is off (OP-111). */
const ACCESS_CONTROL_OFF = 'acls-disabled';

/** The frame of the lists of access control. */
export function AccessPage() {
  return (
    <>
      <PageHead title="Access control" about="Tokens say who somebody is; policies and roles say what they may do." />
      <Answer of={useQuery(ownTokenQuery())}>
        {({ AccessorID }) => (AccessorID === ACCESS_CONTROL_OFF ? <SwitchedOff /> : <Lists />)}
      </Answer>
    </>
  );
}

function Lists() {
  const mayList = useMay({ route: 'listTokens' });
  return (
    <>
      <Tabs label="Parts of access control">
        <Link to="/access-control/policies">Policies</Link>
        <Link to="/access-control/roles">Roles</Link>
        {mayList === true && <Link to="/access-control/tokens">Tokens</Link>}
        <Link to="/access-control/auth-methods">Auth methods</Link>
      </Tabs>
      <Outlet />
    </>
  );
}

const SwitchedOff = () => (
  <Empty title="Access control is off">
    <p>
      Everybody who reaches the API may do everything. <code>WAYBILL_ACL_ENABLED=true</code> and a key file switch it on
      for all servers.
    </p>
  </Empty>
);
