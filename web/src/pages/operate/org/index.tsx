// The organisation's own settings; for admins of the server, all organisations.
import { useQuery } from "@tanstack/react-query";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import { Copy, Facts, Page, Section, Time, Unread } from "../../../ui";
import { orgsQuery } from "../shared/orgs";
import css from "../shared/shared.module.css";
import { Organisations } from "./Organisations";
import { OrgForm } from "./OrgForm";
import { Retention } from "./Retention";
import { words } from "./words";

export default function OrgPage() {
  const t = useWords(words);
  const me = useMe();
  const isServerAdmin = me.user.role === "admin";
  return (
    <Page title={t.title} intro={t.intro}>
      <Own />
      <Retention orgId={me.org.id} />
      {isServerAdmin && <Organisations />}
    </Page>
  );
}

function Own() {
  const t = useWords(words);
  const me = useMe();
  const orgs = useQuery(orgsQuery);
  const own = orgs.data?.find((org) => org.id === me.org.id);
  if (own === undefined) return <Unread of={orgs} />;
  return (
    <Section title={t.own}>
      <OrgForm key={own.id} org={own} />
      <Facts
        of={[
          [
            t.id,
            <span key="id" className={css.row}>
              <code>{own.id}</code>
              <Copy text={own.id} what={t.idText} />
            </span>,
          ],
          [t.since, <Time key="since" at={own.created_at} />],
        ]}
      />
    </Section>
  );
}
