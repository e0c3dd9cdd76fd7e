// A dialog or a panel that is loaded when it is first opened, so that no page waits for what few open.
import { useEffect, useEffectEvent, useState, type ComponentType } from "react";
import { toast } from "./feedback";

/** Shows nothing until it is there, and closes with a word where it cannot be had. */
export function later<P extends { onClose: () => void }>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  return function Later(props: P) {
    const [Part, setPart] = useState(() => loaded);
    const fail = useEffectEvent((error: Error) => {
      toast(error);
      props.onClose();
    });
    useEffect(() => {
      if (loaded !== null) return;
      load().then((part) => {
        loaded = part;
        setPart(() => part);
      }, fail);
    }, []);
    return Part === null ? null : <Part {...props} />;
  };
}
