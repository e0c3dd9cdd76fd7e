import { Menu as Base } from "@base-ui/react/menu";
import { MoreHorizontal } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { IconButton } from "./controls";
import { cx } from "./cx";
import css from "./menu.module.css";

export type MenuItem =
  | { label: ReactNode; icon?: ReactNode; onSelect: () => void; danger?: boolean; disabled?: boolean }
  | "line"
  | null;

/** Things that can be done, behind a button; three dots unless another `trigger` is given. */
export function Menu(props: { label: string; items: readonly MenuItem[]; trigger?: ReactElement }) {
  const trigger = props.trigger ?? (
    <IconButton label={props.label}>
      <MoreHorizontal size={18} />
    </IconButton>
  );
  return (
    <Base.Root modal={false}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner className={css.positioner} align="end" sideOffset={4}>
          <Base.Popup className={css.popup}>
            {props.items.map((item, at) => {
              if (item === null) return null;
              if (item === "line") return <Base.Separator key={at} className={css.line} />;
              return (
                <Base.Item
                  key={at}
                  className={cx(css.item, item.danger && css.danger)}
                  disabled={item.disabled}
                  onClick={item.onSelect}
                >
                  {item.icon}
                  {item.label}
                </Base.Item>
              );
            })}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
