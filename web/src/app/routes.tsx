// Every address of the page. Each page is a chunk of its own, read when it is first needed.
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type AnyRoute,
} from "@tanstack/react-router";
import { Waiting } from "../ui/feedback";
import { Broken, NotFound } from "./Broken";
import { Shell } from "./Shell";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

type Loaded = Promise<{ default: React.ComponentType }>;

function page<const P extends string>(path: P, load: () => Loaded) {
  return createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load),
  });
}

const routes = [
  page("/", () => import("../pages/home")),
  page("/welcome", () => import("../pages/welcome")),
  page("/chat", () => import("../pages/chat")),
  page("/chat/$sessionId", () => import("../pages/chat")),
  page("/debug/$sessionId", () => import("../pages/debug")),
  page("/inbox", () => import("../pages/inbox")),
  page("/rules", () => import("../pages/rules")),
  page("/groups", () => import("../pages/groups")),
  page("/groups/$groupId", () => import("../pages/groups/group")),
  page("/machines", () => import("../pages/machines")),
  page("/machines/$machineId", () => import("../pages/machines/machine")),
  page("/models", () => import("../pages/models")),
  page("/agents", () => import("../pages/operate/agents")),
  page("/agents/$agentId", () => import("../pages/operate/agents/agent")),
  page("/skills", () => import("../pages/operate/skills")),
  page("/skills/$skillId", () => import("../pages/operate/skills/skill")),
  page("/memories", () => import("../pages/operate/memories")),
  page("/mcp", () => import("../pages/operate/mcp")),
  page("/usage", () => import("../pages/operate/usage")),
  page("/audit", () => import("../pages/operate/audit")),
  page("/users", () => import("../pages/operate/users")),
  page("/tokens", () => import("../pages/operate/tokens")),
  page("/org", () => import("../pages/operate/org")),
  page("/health", () => import("../pages/operate/health")),
  page("/settings", () => import("../pages/settings")),
] satisfies AnyRoute[];

export const router = createRouter({
  routeTree: root.addChildren(routes),
  defaultErrorComponent: Broken,
  defaultPendingComponent: Waiting,
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
