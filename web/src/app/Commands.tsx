// The palette (Ctrl or Cmd + K), the sheet of shortcuts (?), and the keys that lead to pages.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useMemo, useState } from "react";
import { api, unwrap } from "../api/client";
import { keys } from "../api/keys";
import { meQuery } from "../api/me";
import { useWords } from "../i18n";
import { setLanguage, useLanguage } from "../i18n/language";
import { isComposing } from "../ui/composing.ts";
import { Dialog } from "../ui/Dialog";
import { Input } from "../ui/controls";
import css from "./palette.module.css";
import { ADMIN, OPERATE, placesFor, WELCOME, WORK, type Place } from "./places";
import { shortcuts, useShortcut } from "./shortcuts";
import { setTheme } from "./theme";
import { words } from "./words";

type Command = { id: string; label: string; keys?: string | undefined; run: () => void };

const SHOWN_MAX = 50;

export function Commands() {
  const t = useWords(words);
  const [open, setOpen] = useState<"palette" | "help" | null>(null);
  useShortcut("mod+k", t.palette, () => setOpen("palette"));
  useShortcut("?", t.helpSheet, () => setOpen("help"));
  const close = () => setOpen(null);
  return (
    <>
      {[...WORK, ...OPERATE, ...ADMIN].map(
        (place) => place.keys && <PlaceKeys key={place.to} place={place} keys={place.keys} />,
      )}
      {open === "palette" && <Palette onClose={close} />}
      {open === "help" && <HelpSheet onClose={close} />}
    </>
  );
}

function PlaceKeys(props: { place: Place; keys: string }) {
  const t = useWords(words);
  const navigate = useNavigate();
  const name = t[props.place.name] as string;
  useShortcut(props.keys, t.goTo(name), () => void navigate({ to: props.place.to }));
  return null;
}

function Keys({ of }: { of: string }) {
  return (
    <span className={css.keys}>
      {of.split(" ").map((key, at) => (
        <kbd key={at}>{key.replace("mod+", "Ctrl ")}</kbd>
      ))}
    </span>
  );
}

function HelpSheet({ onClose }: { onClose: () => void }) {
  const t = useWords(words);
  // These belong to what has the focus.
  const inPlace = [
    { keys: "Enter", label: t.keySend },
    { keys: "Shift Enter", label: t.keyNewLine },
    { keys: "y s a n", label: t.keyAnswers },
  ];
  return (
    <Dialog title={t.shortcuts} onClose={onClose}>
      <dl className={css.sheet}>
        {[...shortcuts(), ...inPlace].map((shortcut) => (
          <div key={shortcut.keys} style={{ display: "contents" }}>
            <dt>
              <Keys of={shortcut.keys} />
            </dt>
            <dd>{shortcut.label}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

function Palette({ onClose }: { onClose: () => void }) {
  const t = useWords(words);
  const list = useId();
  const [wanted, setWanted] = useState("");
  const [chosen, setChosen] = useState(0);
  const commands = useCommands();
  const found = useMemo(() => {
    const parts = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (command: Command) => parts.every((part) => command.label.toLowerCase().includes(part));
    return commands.filter(fits).slice(0, SHOWN_MAX);
  }, [commands, wanted]);
  const run = (command: Command | undefined) => {
    onClose();
    command?.run();
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (isComposing(event.nativeEvent)) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((at) => (at + step + found.length) % Math.max(1, found.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(found[chosen]);
    }
  };
  return (
    <Dialog title={t.palette} onClose={onClose}>
      <Input
        role="combobox"
        aria-label={t.palette}
        aria-expanded
        aria-controls={list}
        aria-activedescendant={found[chosen] && `${list}-${chosen}`}
        placeholder={t.paletteHint}
        value={wanted}
        autoFocus
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setWanted(event.target.value);
          setChosen(0);
        }}
      />
      <ul className={css.list} role="listbox" id={list} aria-label={t.palette}>
        {found.map((command, at) => (
          <li
            key={command.id}
            id={`${list}-${at}`}
            role="option"
            aria-selected={at === chosen}
            className={css.item}
            onMouseMove={() => setChosen(at)}
            onClick={() => run(command)}
          >
            {command.label}
            {command.keys && <Keys of={command.keys} />}
          </li>
        ))}
      </ul>
      {found.length === 0 && <p>{t.paletteNone}</p>}
    </Dialog>
  );
}

function useCommands(): Command[] {
  const t = useWords(words);
  const language = useLanguage();
  const navigate = useNavigate();
  const { data: me } = useQuery(meQuery);
  const { data: sessions } = useQuery({
    queryKey: keys.sessions("palette"),
    queryFn: () => unwrap(api.GET("/api/v1/sessions", { params: { query: { limit: 100 } } })),
  });
  const places = me === undefined ? [] : placesFor(me, [...WORK, ...OPERATE, ...ADMIN, WELCOME]);
  const toPlaces = places.map((place) => ({
    id: place.to,
    label: t.goTo(t[place.name] as string),
    keys: place.keys,
    run: () => void navigate({ to: place.to }),
  }));
  const offered = new Set(toPlaces.map((command) => command.keys));
  const others = shortcuts()
    .filter((shortcut) => !offered.has(shortcut.keys) && shortcut.keys !== "mod+k")
    .map((shortcut) => ({ id: shortcut.keys, ...shortcut }));
  const toSessions = (sessions?.items ?? []).map((session) => ({
    id: session.id,
    label: session.title ?? session.id,
    run: () => void navigate({ to: "/chat/$sessionId", params: { sessionId: session.id } }),
  }));
  return [
    ...toPlaces,
    ...others,
    { id: "theme", label: t.switchTheme, run: flipTheme },
    { id: "language", label: t.switchLanguage, run: () => setLanguage(language === "en" ? "zh" : "en") },
    ...toSessions,
  ];
}

function flipTheme(): void {
  const isDark = getComputedStyle(document.documentElement).colorScheme === "dark";
  const isDarkBySystem = matchMedia("(prefers-color-scheme: dark)").matches;
  const { theme } = document.documentElement.dataset;
  setTheme(isDark || (theme === undefined && isDarkBySystem) ? "light" : "dark");
}
