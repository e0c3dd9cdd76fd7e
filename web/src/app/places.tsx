// The places of the page, for the navigation and the palette.
import {
  Activity,
  BookOpen,
  Bot,
  Brain,
  Building2,
  ChartNoAxesColumn,
  Inbox,
  KeyRound,
  MessageSquare,
  Network,
  Plug,
  ScrollText,
  Server,
  Settings,
  ShieldCheck,
  Ticket,
  Users,
  UsersRound,
} from "lucide-react";
import type { Schemas } from "../api/client";
import { words } from "./words";

type Name = keyof (typeof words)["en"];

export type Place = {
  to: string;
  name: Extract<Name, string>;
  icon: React.ComponentType<{ size?: number }>;
  /** Two keys, one after the other. */
  keys?: string;
  /** Only for those who administer the organisation, or the whole server. */
  admins?: "org" | "server";
};

export const WORK: readonly Place[] = [
  { to: "/chat", name: "chats", icon: MessageSquare, keys: "g c" },
  { to: "/inbox", name: "inbox", icon: Inbox, keys: "g i" },
  { to: "/groups", name: "groups", icon: UsersRound, keys: "g g" },
  { to: "/machines", name: "machines", icon: Server, keys: "g m" },
];

export const OPERATE: readonly Place[] = [
  { to: "/agents", name: "agents", icon: Bot, keys: "g a" },
  { to: "/skills", name: "skills", icon: BookOpen },
  { to: "/memories", name: "memories", icon: Brain },
  { to: "/mcp", name: "mcp", icon: Plug },
  { to: "/models", name: "models", icon: KeyRound },
  { to: "/rules", name: "rules", icon: ShieldCheck, keys: "g r" },
  { to: "/usage", name: "usage", icon: ChartNoAxesColumn, keys: "g u" },
];

export const ADMIN: readonly Place[] = [
  { to: "/audit", name: "audit", icon: ScrollText, admins: "org" },
  { to: "/users", name: "users", icon: Users, admins: "org" },
  { to: "/tokens", name: "tokens", icon: Ticket },
  { to: "/org", name: "org", icon: Building2, admins: "org" },
  { to: "/health", name: "health", icon: Activity, admins: "server" },
  { to: "/settings", name: "settings", icon: Settings, keys: "g s" },
];

/** What is running and what to do next; on a wide screen the name of the page leads there. */
export const WELCOME: Place = { to: "/welcome", name: "welcome", icon: Network };

export const LOGO = Network;

export function placesFor(me: Schemas["Me"], places: readonly Place[]): Place[] {
  const { role } = me.user;
  return places.filter(({ admins }) => {
    if (admins === undefined) return true;
    return admins === "server" ? role === "admin" : role !== "member";
  });
}
