// Whose machine it is, for administrators who see those of others.
import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import { useMe } from "../../api/me";
import css from "./machines.module.css";
import type { Machine } from "./shown";

export function Owner({ machine }: { machine: Machine }) {
  const me = useMe();
  const isOthers = machine.user_id !== me.user.id;
  const { data } = useQuery({
    queryKey: ["user", machine.user_id],
    queryFn: () => {
      const params = { path: { user_id: machine.user_id } };
      return unwrap(api.GET("/api/v1/users/{user_id}", { params }));
    },
    enabled: isOthers,
    staleTime: Infinity,
  });
  return isOthers && data !== undefined ? <span className={css.soft}>{data.name}</span> : null;
}
