// What this person and this browser choose.
import { useMutation } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import { useMe } from "../../api/me";
import { setTheme, useTheme, type Theme } from "../../app/theme";
import { words } from "../../app/words";
import { useWords } from "../../i18n";
import { setLanguage, useLanguage, type Language } from "../../i18n/language";
import { Button, ErrorNote, Facts, Field, Page, Section, Select } from "../../ui";
import { Notifications } from "./notifications";

export default function SettingsPage() {
  const t = useWords(words);
  return (
    <Page title={t.settings} narrow>
      <Section title={t.appearance}>
        <ThemeField />
        <LanguageField />
      </Section>
      <Notifications />
      <Account />
    </Page>
  );
}

function ThemeField() {
  const t = useWords(words);
  const choices = [
    { value: "system", label: t.themeSystem },
    { value: "light", label: t.themeLight },
    { value: "dark", label: t.themeDark },
  ];
  return (
    <Field label={t.theme}>
      <Select
        choices={choices}
        value={useTheme()}
        onChange={(event) => setTheme(event.target.value as Theme)}
      />
    </Field>
  );
}

function LanguageField() {
  const t = useWords(words);
  const choices = [
    { value: "en", label: "English" },
    { value: "zh", label: "中文" },
  ];
  return (
    <Field label={t.language}>
      <Select
        choices={choices}
        value={useLanguage()}
        onChange={(event) => setLanguage(event.target.value as Language)}
      />
    </Field>
  );
}

function Account() {
  const t = useWords(words);
  const me = useMe();
  const logOut = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/logout")),
    onSuccess: () => location.assign("/"),
  });
  return (
    <Section title={t.account}>
      <Facts
        of={[
          [t.account, `${me.user.name} · ${me.user.role}`],
          [t.org, me.org.name],
          [t.apiDocs, <a href="/docs">/docs</a>],
        ]}
      />
      {logOut.error !== null && <ErrorNote error={logOut.error} />}
      <div>
        <Button onClick={() => logOut.mutate()}>{t.logOut}</Button>
      </div>
    </Section>
  );
}
