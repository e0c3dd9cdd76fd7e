import { ChevronRight } from "lucide-react";
import { useId, type ReactNode } from "react";

import { cx } from "../../../ui";
import css from "./transcript.module.css";
import { useFold } from "./folds.ts";

/** A line that opens. What is inside is made only when it is open. */
export function Fold(props: {
  foldKey: string;
  isOpenAtFirst?: boolean;
  summary: ReactNode;
  className?: string | undefined;
  children: () => ReactNode;
}) {
  const id = useId();
  const [isOpen, toggle] = useFold(props.foldKey, props.isOpenAtFirst ?? false);
  return (
    <div className={cx(css.fold, props.className)}>
      <button type="button" className={css.summary} aria-expanded={isOpen} aria-controls={isOpen ? id : undefined} onClick={toggle}>
        <ChevronRight size={14} className={css.chevron} aria-hidden />
        {props.summary}
      </button>
      {isOpen && (
        <div id={id} className={css.inside}>
          {props.children()}
        </div>
      )}
    </div>
  );
}
