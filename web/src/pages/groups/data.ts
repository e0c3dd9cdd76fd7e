// Persons and groups as the server has them.
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "../../api/client";
import { keys } from "../../api/keys";
import { machinesQuery } from "../../api/names";

export type Person = Schemas["Person"];
export type Group = Schemas["Group"];

/** More than a user may have. */
const ALL = { params: { query: { limit: 200 } } };

export const personsQuery = queryOptions({
  queryKey: keys.persons(),
  queryFn: async () => (await unwrap(api.GET("/api/v1/persons", ALL))).items,
});

export const groupsQuery = queryOptions({
  queryKey: keys.groups(),
  queryFn: async () => (await unwrap(api.GET("/api/v1/groups", ALL))).items,
});

export const groupQuery = (groupId: string) =>
  queryOptions({
    queryKey: [...keys.groups(), groupId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/groups/{group_id}", { params: { path: { group_id: groupId } } })),
  });

/** Machines on which a person can live. */
export const homesQuery = queryOptions({
  ...machinesQuery,
  select: (machines) => machines.filter((machine) => machine.kind !== "group"),
});

/** A change of persons or groups: what was read of them is read again. */
export function useChange<Given>(change: (given: Given) => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: keys.persons() }),
        client.invalidateQueries({ queryKey: keys.groups() }),
      ]),
  });
}

export const removePerson = (personId: string) =>
  unwrap(api.DELETE("/api/v1/persons/{person_id}", { params: { path: { person_id: personId } } }));

export const removeGroup = (groupId: string) =>
  unwrap(api.DELETE("/api/v1/groups/{group_id}", { params: { path: { group_id: groupId } } }));
