"""Yeaft's own page as it is deployed: what it asks over HTTP and on its socket, what it keeps, and
what it drops or breaks at. Written from the field notes, not with our codecs.

It does by itself what the page does by itself: the greeting, the inventory, and behind every list
of agents the selection and the messages of the conversation that is open.
"""

import itertools
import json
from io import BytesIO
from typing import Any

import aiohttp
from yarl import URL

from tests.support.control import TestUser
from tests.support.peer import Fits, Json, Peer, anything

PROVIDERS = ("claude-code", "copilot")
ROW = {
    *("catalogKey", "runtimeProvider", "routeRef", "title", "workDir", "agentId", "agentName"),
    *("availability", "pinned", "hidden", "sortRank", "createdAt", "metadataUpdatedAt"),
}


class PageHttp:
    """The page's requests: a browser's, with its cookies."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        self.token: str | None = None

    async def __aenter__(self) -> "PageHttp":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()

    async def get(self, path: str) -> tuple[int, Json]:
        async with self._http.get(self.url + path, headers=self._headers) as answer:
            return answer.status, await answer.json()

    async def post(self, path: str, body: Any = None) -> tuple[int, Json]:
        async with self._http.post(self.url + path, json=body, headers=self._headers) as answer:
            return answer.status, await answer.json()

    async def login(self, username: str, password: str) -> Json:
        """Keeps the token, as the page does in its storage; returns the whole answer."""
        answer = (await self.post("/api/auth/login", {"username": username, "password": password}))[
            1
        ]
        if answer["success"]:
            self.token = answer["token"]
        return answer

    async def upload(self, *files: tuple[str, str, bytes]) -> tuple[int, Json]:
        """Name, type and content of each, in one form."""
        form = aiohttp.FormData()
        for name, mime, content in files:
            form.add_field("files", BytesIO(content), filename=name, content_type=mime)
        url = self.url + "/api/upload"
        async with self._http.post(url, data=form, headers=self._headers) as answer:
            return answer.status, await answer.json()

    def cookie(self, name: str) -> str | None:
        found = self._http.cookie_jar.filter_cookies(URL(self.url)).get(name)
        return None if found is None else found.value

    @property
    def _headers(self) -> dict[str, str]:
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}


class Page(Peer):
    """The socket of one open page, and what it holds. `open_conversation`: the one that was open
    when the page was left, which it keeps in its storage."""

    def __init__(self, url: str, token: str, open_conversation: str | None = None) -> None:
        super().__init__(f"{url.replace('http', 'ws', 1)}/?type=web&token={token}")
        self.role = ""
        self.has_workbench = False
        self.agents: list[Json] = []
        self.catalog: list[Json] = []
        self.hidden: list[Json] = []
        self.group_chats: list[Json] = []
        self.rows: dict[str, list[Json]] = {}
        self.questions: dict[str, Json] = {}
        """By request; those that wait."""
        self.is_ready = False
        self.current = open_conversation
        self._numbers = itertools.count(1)
        self._inventory: str | None = None
        self._slices: list[Json] = []

    async def _greet(self) -> None:
        await self._until(lambda: self.is_ready, "the page's inventory")

    async def send(self, kind: str, /, **fields: Any) -> None:
        await self.send_text(json.dumps({"type": kind, **fields}))

    async def expect(self, kind: str, fits: Fits = anything, since: int = 0) -> Json:
        return await self._first_of(kind, fits, since)

    async def ask(self, kind: str, answer: str, /, **fields: Any) -> Json:
        """A question with an id of its own; the answer has to bring that back."""
        request_id = f"{kind}_{next(self._numbers)}"
        await self.send(kind, requestId=request_id, **fields)
        return await self.expect(answer, lambda one: one.get("requestId") == request_id)

    async def until(self, ready: Any, what: str) -> None:
        await self._until(ready, what)

    async def show(self, conversation_id: str) -> None:
        """A click on a row."""
        self.current = conversation_id
        self.rows.pop(conversation_id, None)
        await self._show_current()
        await self._until(lambda: conversation_id in self.rows, "the conversation's rows")

    async def create(self, agent_id: str, **fields: Any) -> str:
        since = len(self.received)
        await self.send("select_agent", agentId=agent_id)
        await self.expect("agent_selected", lambda one: one["agentId"] == agent_id, since)
        chosen = {"provider": "claude-code", "workDir": "/work", **fields}
        await self.send("create_conversation", agentId=agent_id, **chosen)
        created = await self.expect("conversation_created", since=since)
        assert created["provider"] in PROVIDERS, "breaks the page's list"
        conversation_id = str(created["conversationId"])
        await self.show(conversation_id)
        await self._until(lambda: self._has(conversation_id), "the row of the conversation")
        return conversation_id

    def _has(self, conversation_id: str) -> bool:
        return any(row["catalogKey"] == f"chat:{conversation_id}" for row in self.catalog)

    async def chat(self, prompt: str, **fields: Any) -> Json:
        """Says it in the conversation that is open; returns with the turn's end."""
        since = len(self.received)
        said = {"prompt": prompt, "conversationId": self.current, "workDir": "/work"}
        name = f"cm_{next(self._numbers)}"
        await self.send("chat", **said, clientMessageId=name, fileIds=[], **fields)
        ends = ("turn_completed", "execution_cancelled")
        return await self.first(lambda one: one["type"] in ends, "the turn's end", since)

    def text_of(self, conversation_id: str, since: int = 0) -> str:
        """What came live of the agent's words."""
        return "".join(
            block["text"]
            for one in self.of_type("claude_output", since)
            if one["conversationId"] == conversation_id and one["data"]["type"] == "assistant"
            for block in one["data"]["message"]["content"]
            if block["type"] == "text"
        )

    def row(self, conversation_id: str) -> Json:
        (row,) = [one for one in self.catalog if one["catalogKey"] == f"chat:{conversation_id}"]
        return row

    async def _show_current(self) -> None:
        await self.send("select_conversation", conversationId=self.current)
        await self.send("sync_messages", conversationId=self.current, turns=5)
        await self.send("refresh_conversation", conversationId=self.current)

    async def _take(self, message: Json) -> None:
        taken = getattr(self, f"_on_{message['type']}", None)
        if taken is not None:
            await taken(message)

    async def _on_auth_result(self, message: Json) -> None:
        if not message["success"]:
            return
        self.role = message["role"]
        await self.send("client_hello", plaintextOk=True, workbenchRouteProtocol=1)
        # A server that does not tell when its inventory is whole is not asked for one.
        if message.get("yeaftSessionInventoryComplete") is True:
            self._inventory = f"session_inventory_{next(self._numbers)}"
            opened = [] if self.current is None else [self.current]
            await self.send("get_agents", requestId=self._inventory, conversationIds=opened)

    async def _on_client_hello_ack(self, message: Json) -> None:
        speaks = message.get("workbenchRouteProtocol") == 1
        self.has_workbench = speaks and self.role in ("admin", "pro")

    async def _on_agent_list(self, message: Json) -> None:
        self.agents = message["agents"]
        listed = {one["id"] for agent in self.agents for one in agent["conversations"]}
        if self.current is None or self.current not in listed:
            return
        agent = next(
            agent
            for agent in self.agents
            if any(one["id"] == self.current for one in agent["conversations"])
        )
        if not agent["online"]:
            return
        await self.send("select_agent", agentId=agent["id"], silent=True)
        await self._show_current()

    async def _on_session_catalog_snapshot(self, message: Json) -> None:
        for row in (*message["catalog"], *message["hiddenCatalog"]):
            assert row.keys() >= ROW, row
            assert row["runtimeProvider"] in PROVIDERS, "breaks the page's list"
        if message["projectsAuthoritative"] is True:
            self.catalog, self.hidden = message["catalog"], message["hiddenCatalog"]

    async def _on_yeaft_session_hydrate(self, message: Json) -> None:
        if message.get("requestId") == self._inventory:
            self._slices += message["sessions"]

    async def _on_yeaft_session_hydrate_complete(self, message: Json) -> None:
        if message.get("requestId") == self._inventory and message["ok"] is True:
            self.group_chats, self._slices = self._slices, []
            self.is_ready = True

    async def _on_yeaft_output(self, message: Json) -> None:
        event = message.get("event")
        if isinstance(event, dict) and event.get("type") == "session_list_updated":
            # One that is not all there is empties the list.
            is_whole = event.get("projectsAuthoritative") is True
            self.group_chats = event["sessions"] if is_whole else []

    async def _on_sync_messages_result(self, message: Json) -> None:
        conversation_id = message["conversationId"]
        if message.get("catalogKey") != f"chat:{conversation_id}":
            return  # dropped, without a word
        self.rows[conversation_id] = message["messages"]
        for row in message["messages"]:
            if row["message_type"] == "tool_use" and row["tool_name"] == "AskUserQuestion":
                self._restore(json.loads(row["metadata"]))

    def _restore(self, question: Json) -> None:
        if question["askAnswered"]:
            self.questions.pop(question["askRequestId"], None)
        else:
            self.questions[question["askRequestId"]] = question

    async def _on_ask_user_question(self, message: Json) -> None:
        asked = {"askRequestId": message["requestId"], "askQuestions": message["questions"]}
        self.questions[message["requestId"]] = asked


def page_of(user: TestUser, open_conversation: str | None = None) -> Page:
    return Page(user.control.url, user.token, open_conversation)
