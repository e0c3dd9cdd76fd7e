// What is folded and what is not. A row that is scrolled away is taken out of the page, so that it
// cannot remember this itself.

import { createContext, use, useCallback, useState } from "react";

export type Folds = Map<string, boolean>;

export const FoldsOf = createContext<Folds>(new Map());

/** Whether it is open; a person's choice counts for longer than `isOpenAtFirst`. */
export function useFold(key: string, isOpenAtFirst: boolean): [boolean, () => void] {
  const folds = use(FoldsOf);
  const [, redraw] = useState(0);
  const isOpen = folds.get(key) ?? isOpenAtFirst;
  const toggle = useCallback(() => {
    folds.set(key, !(folds.get(key) ?? isOpenAtFirst));
    redraw((count) => count + 1);
  }, [folds, key, isOpenAtFirst]);
  return [isOpen, toggle];
}
