// The frame around every page: where one can go, whether the line is there, who is logged in.
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet } from "@tanstack/react-router";
import { Ellipsis } from "lucide-react";
import { useEffect, useState } from "react";
import { ApiError } from "../api/client";
import { meQuery } from "../api/me";
import { useBadge } from "../approvals/badge";
import { useQuestionNews, useWaitingCount } from "../approvals/waiting";
import { useWords } from "../i18n";
import { useLine } from "../live";
import { Dialog } from "../ui/Dialog";
import { Empty, Waiting } from "../ui/feedback";
import { Stranger } from "./Broken";
import { Commands } from "./Commands";
import { LowDisk } from "./LowDisk";
import { remembered } from "./memory";
import { ADMIN, LOGO as Logo, OPERATE, placesFor, WELCOME, WORK, type Place } from "./places";
import css from "./shell.module.css";
import { words } from "./words";

export function Shell() {
  const t = useWords(words);
  const me = useQuery({ ...meQuery, retry: keepTrying, retryDelay: 2_000 });
  if (me.error instanceof ApiError && me.error.status === 401) return <Stranger />;
  if (me.data !== undefined) return <Frame />;
  if (me.failureCount > 0) return <Empty title={t.unreachable}>{t.unreachableHelp}</Empty>;
  return <Waiting />;
}

function keepTrying(_failures: number, error: Error): boolean {
  return !(error instanceof ApiError && error.status === 401);
}

function Frame() {
  const t = useWords(words);
  const line = useLine();
  useQuestionNews();
  useBadge();
  usePushRenewal();
  if (line === "stranger") return <Stranger />;
  return (
    <div className={css.shell}>
      <a className={css.skip} href="#content">
        {t.skip}
      </a>
      <SideNav />
      <main className={css.main} id="content" tabIndex={-1}>
        {line === "offline" && (
          <p className={css.offline} role="status">
            {t.lineOfflineHelp}
          </p>
        )}
        <LowDisk />
        <div className={css.content}>
          <Outlet />
        </div>
      </main>
      <BottomBar />
      <Commands />
    </div>
  );
}

/** What this device is told holds on after a new login. */
function usePushRenewal(): void {
  const { data: me } = useQuery(meQuery);
  const userId = me?.user.id;
  useEffect(() => {
    if (userId === undefined || remembered("push") === null) return;
    void import("../push/device").then(({ renew }) => renew(userId)).catch(() => undefined);
  }, [userId]);
}

function SideNav() {
  const t = useWords(words);
  return (
    <nav className={css.nav} aria-label={t.main}>
      <Link to="/welcome" className={css.brand}>
        <Logo size={18} aria-hidden />
        <span className={css.label}>Trunkline</span>
      </Link>
      <PlaceList places={WORK} />
      <PlaceList places={OPERATE} heading={t.operate} />
      <PlaceList places={ADMIN} heading={t.admin} />
      <Foot />
    </nav>
  );
}

function Foot() {
  const t = useWords(words);
  const line = useLine();
  const { data: me } = useQuery(meQuery);
  const said = { connecting: t.lineConnecting, live: t.lineLive, offline: t.lineOffline, stranger: "" };
  return (
    <div className={css.foot}>
      <span className={css.label}>{me?.user.name}</span>
      <span className={css.line} title={said[line]}>
        <span className={css.dot} data-line={line} />
        <span className={css.lineText}>{said[line]}</span>
      </span>
    </div>
  );
}

function PlaceList(props: { places: readonly Place[]; heading?: string; onGo?: () => void }) {
  const { data: me } = useQuery(meQuery);
  if (me === undefined) return null;
  return (
    <div>
      {props.heading && <div className={css.heading}>{props.heading}</div>}
      <ul className={css.group}>
        {placesFor(me, props.places).map((place) => (
          <li key={place.to}>
            <PlaceLink place={place} onGo={props.onGo} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function PlaceLink({ place, onGo }: { place: Place; onGo?: (() => void) | undefined }) {
  const t = useWords(words);
  const waiting = useWaitingCount();
  const name = t[place.name] as string;
  return (
    <Link to={place.to} className={css.link} title={name} onClick={onGo}>
      <place.icon size={17} aria-hidden />
      <span className={css.label}>{name}</span>
      {place.to === "/inbox" && waiting > 0 && (
        <span className={css.count}>
          {waiting}
          <span className="visually-hidden"> {t.waiting(waiting)}</span>
        </span>
      )}
    </Link>
  );
}

function BottomBar() {
  const t = useWords(words);
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <nav className={css.bar} aria-label={t.main}>
      {WORK.map((place) => (
        <PlaceLink key={place.to} place={place} />
      ))}
      <button type="button" className={css.link} onClick={() => setOpen(true)}>
        <Ellipsis size={17} aria-hidden />
        {t.more}
      </button>
      {isOpen && (
        <Dialog title={t.more} onClose={close}>
          <PlaceList places={OPERATE} heading={t.operate} onGo={close} />
          <PlaceList places={ADMIN} heading={t.admin} onGo={close} />
          <PlaceList places={[WELCOME]} onGo={close} />
          <Foot />
        </Dialog>
      )}
    </nav>
  );
}
