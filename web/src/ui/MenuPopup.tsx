// The menu itself, with what places it on the screen: loaded when the first one is opened.
import { Menu as Base } from "@base-ui/react/menu";
import { useEffect, useState, type ReactElement } from "react";
import { cx } from "./cx";
import type { MenuItem } from "./Menu";
import css from "./menu.module.css";

/** Opens as it comes. */
export function MenuPopup(props: { items: readonly MenuItem[]; trigger: ReactElement }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(true), []); // its button has to be there first
  return (
    <Base.Root modal={false} open={isOpen} onOpenChange={setOpen}>
      <Base.Trigger render={props.trigger} />
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
