// What can be done with a chat, in the list and above the chat itself.
import { useNavigate, useParams } from "@tanstack/react-router";
import {
  Archive,
  ArchiveRestore,
  Bug,
  FileDown,
  FoldVertical,
  GitFork,
  History,
  MonitorUp,
  Pencil,
  Pin,
  PinOff,
  Power,
  Trash2,
} from "lucide-react";
import { useState } from "react";
import { api, unwrap } from "../../../api/client";
import { useWords } from "../../../i18n";
import { ConfirmDialog, later, Menu, toast, type MenuItem } from "../../../ui";
import type { Session } from "../list/sessions";
import { freshId } from "../composer/ids";
import { words } from "../words";
import { download, exportAddress, useChange, useFork } from "./change";
import { RenameDialog } from "./RenameDialog";

const ICON = 15;
const KeepDialog = later(() => import("../../retention/KeepDialog").then((loaded) => loaded.KeepDialog));
const MoveDialog = later(() => import("./MoveDialog").then((loaded) => loaded.MoveDialog));
type Asked = "rename" | "keep" | "remove" | "close" | "move" | null;

export function SessionMenu(props: { session: Session; label: string; isHead?: boolean }) {
  const { session, isHead } = props;
  const t = useWords(words);
  const navigate = useNavigate();
  const openId = useParams({ strict: false }).sessionId;
  const [asked, ask] = useState<Asked>(null);
  const { set, remove } = useChange(session);
  const fork = useFork(session.id);
  const isOpen = session.status === "active";
  const quiet = () => ask(null);
  const copy = async () => {
    try {
      await (await fork({}, freshId())).open();
    } catch (error) {
      toast(error as Error);
    }
  };
  const compact = async () => {
    try {
      const params = { path: { session_id: session.id } };
      await unwrap(api.POST("/api/v1/sessions/{session_id}/compact", { params }));
      toast(t.compacting);
    } catch (error) {
      toast(error as Error);
    }
  };
  const items: MenuItem[] = [
    { label: t.rename, icon: <Pencil size={ICON} />, onSelect: () => ask("rename") },
    session.pinned
      ? { label: t.unpin, icon: <PinOff size={ICON} />, onSelect: () => set({ pinned: false }) }
      : { label: t.pin, icon: <Pin size={ICON} />, onSelect: () => set({ pinned: true }) },
    session.archived
      ? { label: t.unarchive, icon: <ArchiveRestore size={ICON} />, onSelect: () => set({ archived: false }) }
      : { label: t.archive, icon: <Archive size={ICON} />, onSelect: () => set({ archived: true }) },
    "line",
    { label: t.fork, icon: <GitFork size={ICON} />, onSelect: () => void copy() },
    isHead && isOpen && session.runtime_type === "semigraph"
      ? { label: t.compact, icon: <FoldVertical size={ICON} />, onSelect: () => void compact() }
      : null,
    isHead && isOpen
      ? { label: t.move, icon: <MonitorUp size={ICON} />, onSelect: () => ask("move") }
      : null,
    isHead
      ? {
          label: t.debug,
          icon: <Bug size={ICON} />,
          onSelect: () => void navigate({ to: "/debug/$sessionId", params: { sessionId: session.id } }),
        }
      : null,
    "line",
    {
      label: t.exportMarkdown,
      icon: <FileDown size={ICON} />,
      onSelect: () => download(exportAddress(session.id, "markdown")),
    },
    {
      label: t.exportLines,
      icon: <FileDown size={ICON} />,
      onSelect: () => download(exportAddress(session.id, "jsonl")),
    },
    { label: t.keep, icon: <History size={ICON} />, onSelect: () => ask("keep") },
    "line",
    isOpen ? { label: t.close, icon: <Power size={ICON} />, onSelect: () => ask("close") } : null,
    { label: t.remove, icon: <Trash2 size={ICON} />, danger: true, onSelect: () => ask("remove") },
  ];
  const erase = async () => {
    // First: what is on the screen would be asked for once more when it is gone.
    if (openId === session.id) await navigate({ to: "/chat" });
    try {
      await remove(true);
    } catch (error) {
      toast(error as Error); // the dialog may have gone with the chat
      throw error;
    }
  };
  return (
    <>
      <Menu label={props.label} items={items} />
      {asked === "rename" && <RenameDialog session={session} onClose={quiet} />}
      {asked === "keep" && <KeepDialog sessionId={session.id} onClose={quiet} />}
      {asked === "move" && <MoveDialog session={session} onClose={quiet} />}
      {asked === "close" && (
        <ConfirmDialog title={t.closeTitle} confirm={t.closeYes} onConfirm={() => remove(false)} onClose={quiet}>
          <p>{t.closeHelp}</p>
        </ConfirmDialog>
      )}
      {asked === "remove" && (
        <ConfirmDialog danger title={t.removeTitle} confirm={t.removeYes} onConfirm={erase} onClose={quiet}>
          <p>{t.removeHelp}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
