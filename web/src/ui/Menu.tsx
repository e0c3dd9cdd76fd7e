import { MoreHorizontal } from "lucide-react";
import { useState, type ReactNode } from "react";
import { IconButton } from "./controls";
import { toast } from "./feedback";
import type { MenuPopup } from "./MenuPopup";

export type MenuItem =
  | { label: ReactNode; icon?: ReactNode; onSelect: () => void; danger?: boolean; disabled?: boolean }
  | "line"
  | null;

const load = () => import("./MenuPopup");
const prepare = () => void load().catch(() => undefined);

/** Things that can be done, behind a button of three dots. */
export function Menu(props: { label: string; items: readonly MenuItem[] }) {
  const [Popup, setPopup] = useState<typeof MenuPopup | null>(null);
  const icon = <MoreHorizontal size={18} />;
  if (Popup !== null) {
    return <Popup items={props.items} trigger={<IconButton label={props.label}>{icon}</IconButton>} />;
  }
  const open = () => load().then((loaded) => setPopup(() => loaded.MenuPopup), toast);
  return (
    <IconButton
      label={props.label}
      aria-haspopup="menu"
      aria-expanded={false}
      onPointerEnter={prepare}
      onFocus={prepare}
      onClick={() => void open()}
      onKeyDown={(event) => {
        if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
        event.preventDefault();
        void open();
      }}
    >
      {icon}
    </IconButton>
  );
}
