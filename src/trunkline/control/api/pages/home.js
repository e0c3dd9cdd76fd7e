// Who is logged in, their machines and sessions. The cookie is not readable here: the server is asked.
"use strict";

const show = (id) => { document.getElementById(id).hidden = false; };

async function ask(path) {
  const answer = await fetch(`/api/v1${path}`);
  if (answer.status === 401) return null;
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error.message);
  return body;
}

const when = (ms) => (ms === null ? "–" : new Date(ms).toLocaleString());

function showMachines(page) {
  const rows = page.items.map((machine) => [
    machine.name,
    machine.kind,
    machine.online ? both("online", "在线") : [machine.state, machine.detail].filter(Boolean).join(": "),
    String(machine.sessions.length),
    when(machine.last_seen_at),
  ]);
  const headings = [
    both("name", "名称"), both("kind", "类型"), both("state", "状态"), both("sessions", "会话数"),
    both("last seen", "最近在线"),
  ];
  document.getElementById("machines").replaceChildren(
    rows.length ? table(headings, rows) : both("None yet.", "暂无。"));
}

function showSessions(page) {
  const rows = page.items.map((session) => [
    session.title || make("code", {}, session.id),
    session.runtime_type,
    session.status === "active" ? both("active", "进行中") : both("closed", "已结束"),
    String(session.last_event_id),
    when(session.updated_at),
  ]);
  const headings = [
    both("title", "标题"), both("runtime", "运行时"), both("state", "状态"), both("events", "事件数"),
    both("changed", "更新时间"),
  ];
  document.getElementById("sessions").replaceChildren(
    rows.length ? table(headings, rows) : both("None yet.", "暂无。"));
}

async function start() {
  const me = await ask("/me");
  if (me === null) {
    show("stranger");
    return;
  }
  document.getElementById("who").replaceChildren(
    make("strong", {}, me.user.name), ` · ${me.org.name} · ${me.user.role}`);
  show("person");
  show("leave");
  const [machines, sessions] = await Promise.all([ask("/machines"), ask("/sessions")]);
  showMachines(machines);
  showSessions(sessions);
}

document.getElementById("leave").addEventListener("click", async () => {
  await fetch("/api/v1/logout", { method: "POST" });
  location.reload();
});

start().catch((error) => {
  document.getElementById("trouble").textContent = error.message;
  show("trouble");
});
