// The first page: what is running, one click to a first chat, and what to do next.
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Bot, KeyRound, MessageSquarePlus, Plus, Server, Smartphone } from "lucide-react";
import { useState, type ComponentType, type ReactNode } from "react";
import { api, unwrap, type Schemas } from "../../api/client";
import { keys } from "../../api/keys";
import { useWords } from "../../i18n";
import { Badge, Button, buttonClass, ErrorNote, Facts, Page, Section, Waiting } from "../../ui";
import { useFenceWords } from "../../ui/said";
import { bodyOf, NOTHING } from "../chat/start/choice";
import { newSession } from "../newSession";
import { PhoneDialog } from "./PhoneDialog";
import css from "./welcome.module.css";
import { words } from "./words";

type Welcome = Schemas["Welcome"];

const LOOK_MS = 3_000;

export default function WelcomePage() {
  const t = useWords(words);
  const { data, error, refetch } = useQuery({
    queryKey: keys.welcome(),
    queryFn: () => unwrap(api.GET("/api/v1/welcome")),
    // Until a machine has come and said what it has; then the news of the stream do.
    refetchInterval: (query) => (query.state.data?.model ? false : LOOK_MS),
    refetchOnMount: "always",
  });
  return (
    <Page title={t.title} intro={t.intro}>
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && (
        <div className={css.columns}>
          <div className={css.column}>
            <FirstChat welcome={data} />
            <Running welcome={data} />
          </div>
          <Next welcome={data} />
        </div>
      )}
    </Page>
  );
}

/** The one that a first chat would run on, as far as can be told: there, and the newest. */
function machineOf(welcome: Welcome): Schemas["Machine"] | undefined {
  const online = welcome.machines.filter((machine) => machine.online && !machine.draining);
  return online.find((machine) => machine.kind === "vm") ?? online[0] ?? welcome.machines[0];
}

function Running({ welcome }: { welcome: Welcome }) {
  const t = useWords(words);
  const fenceWords = useFenceWords();
  const machine = machineOf(welcome);
  const others = welcome.machines.filter((one) => one.online && one !== machine).length;
  const runtimes = Object.entries(machine?.runtimes ?? {})
    .filter(([, runtime]) => runtime.usable)
    .map(([name]) => name);
  return (
    <Section title={t.running}>
      <Facts
        of={[
          [t.machine, <MachineFact machine={machine} more={others} />],
          [t.model, <ModelFact model={welcome.model} />],
          welcome.providers.length === 0
            ? null
            : [t.keys, welcome.providers.map((one) => one.provider).join(", ")],
          runtimes.length === 0 ? null : [t.runtimes, runtimes.join(", ")],
          machine?.fence
            ? [
                t.fence,
                <span title={fenceWords(machine.fence.words)}>
                  {machine.fence.in_force ? t.fenced : t.notFenced}
                </span>,
              ]
            : null,
          [t.version, welcome.version],
        ]}
      />
    </Section>
  );
}

function MachineFact(props: { machine: Schemas["Machine"] | undefined; more: number }) {
  const t = useWords(words);
  const { machine, more } = props;
  if (machine === undefined) return <span>{t.noMachine}</span>;
  const isStarting = machine.state === "pending" && machine.provider === "local";
  const tone = machine.online ? "good" : isStarting ? "accent" : "warn";
  const said = machine.online ? t.online : isStarting ? t.starting : t.offline;
  return (
    <span className={css.fact}>
      <Link to="/machines">{t.machineAndMore(machine.name, more)}</Link>
      <Badge tone={tone}>{said}</Badge>
    </span>
  );
}

function ModelFact({ model }: { model: Welcome["model"] }) {
  const t = useWords(words);
  if (model === null) return <span className={css.soft}>{t.noModel}</span>;
  return (
    <span className={css.fact}>
      <Link to="/models">{model.name}</Link>
      {model.is_built_in && <Badge tone="accent">{t.builtIn}</Badge>}
      {model.is_built_in && <span className={css.soft}>{t.builtInHelp}</span>}
    </span>
  );
}

function FirstChat({ welcome }: { welcome: Welcome }) {
  const t = useWords(words);
  const navigate = useNavigate();
  const machine = machineOf(welcome);
  const isReady = machine?.online ?? false;
  const isBuiltIn = welcome.model?.is_built_in ?? false;
  const starting = useMutation({
    mutationFn: async () => {
      const session = await newSession(bodyOf(NOTHING));
      // What costs nothing is shown at work at once; to a model that costs, people speak themselves.
      if (isBuiltIn) {
        const params = { path: { session_id: session.id } };
        const body = { message: t.firstMessage };
        await unwrap(api.POST("/api/v1/sessions/{session_id}/messages", { params, body }));
      }
      return session.id;
    },
    onSuccess: (sessionId) => navigate({ to: "/chat/$sessionId", params: { sessionId } }),
  });
  const model = welcome.model;
  if (machine === undefined)
    return (
      <div className={css.start}>
        <Link to="/machines" hash="add" className={buttonClass("primary")}>
          <Plus size={16} aria-hidden />
          {t.addMachine}
        </Link>
      </div>
    );
  return (
    <div className={css.start}>
      <Button look="primary" disabled={!isReady || starting.isPending} onClick={() => starting.mutate()}>
        <MessageSquarePlus size={16} aria-hidden />
        {welcome.sessions === 0 ? t.start : t.startAnother}
      </Button>
      <span className={css.soft}>
        {!isReady && t.startWaits}
        {isReady && model !== null && (model.is_built_in ? t.startBuiltIn : t.startWith(model.name))}
      </span>
      {starting.error !== null && <ErrorNote error={starting.error} />}
    </div>
  );
}

function Next({ welcome }: { welcome: Welcome }) {
  const t = useWords(words);
  const [isPhone, setPhone] = useState(false);
  return (
    <Section title={t.next}>
      <ul className={css.steps}>
        <Step icon={KeyRound} help={t.addKeyHelp}>
          <Link to="/models" hash="add">
            {welcome.providers.length === 0 ? t.addKey : t.moreKeys}
          </Link>
        </Step>
        <Step icon={Server} help={t.addMachineHelp}>
          <Link to="/machines" hash="add">
            {t.addMachine}
          </Link>
        </Step>
        <Step icon={Smartphone} help={t.phoneHelp}>
          <button type="button" className={css.link} onClick={() => setPhone(true)}>
            {t.phone}
          </button>
        </Step>
        <Step icon={Bot} help={t.agentsHelp}>
          <Link to="/agents">{t.agents}</Link>
        </Step>
      </ul>
      {isPhone && <PhoneDialog isLocal={welcome.is_local} onClose={() => setPhone(false)} />}
    </Section>
  );
}

function Step(props: {
  icon: ComponentType<{ size?: number; "aria-hidden"?: boolean }>;
  help: string;
  children: ReactNode;
}) {
  return (
    <li className={css.step}>
      <props.icon size={18} aria-hidden />
      <div>
        {props.children}
        <p className={css.soft}>{props.help}</p>
      </div>
    </li>
  );
}
