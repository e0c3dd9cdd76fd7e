"""The graph of a turn: start → plan → act → observe → plan … → reflect → respond.

Beside `act`, `approve` waits for people; what they allowed goes from `observe` to `act` again. A
plan that finds the conversation too long goes to `compact`, and is made again. Before each `plan`,
`listen` takes what people have said meanwhile.
"""

from copy import copy

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from trunkline import limits
from trunkline.execution.orchestrator import edges, nodes
from trunkline.execution.orchestrator.act import act
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.state import State, Step

AgentGraph = CompiledStateGraph[State, Context, State, State]

STEPS_MAX = 7 * limits.MODEL_CALLS_PER_TURN_MAX + 10
"""LangGraph's own limit, out of the way of `max_turns`, which says what happened."""


def _agent_graph() -> AgentGraph:
    builder = StateGraph(State, context_schema=Context)
    builder.add_node("start", nodes.start)
    builder.add_node("listen", nodes.listen)
    builder.add_node("plan", nodes.plan)
    builder.add_node("compact", nodes.compact)
    builder.add_node("approve", nodes.approve)
    builder.add_node("act", act, input_schema=Step)
    builder.add_node("observe", nodes.observe)
    builder.add_node("reflect", nodes.reflect)
    builder.add_node("respond", nodes.respond)
    builder.add_edge(START, "start")
    builder.add_conditional_edges("start", edges.before_plan, ["listen", "plan"])
    builder.add_edge("listen", "plan")
    builder.add_conditional_edges(
        "plan", edges.after_plan, ["compact", "approve", "act", "listen", "reflect"]
    )
    builder.add_edge("compact", "plan")
    builder.add_edge("approve", "observe")
    builder.add_edge("act", "observe")
    builder.add_conditional_edges(
        "observe", edges.after_observe, ["approve", "act", "listen", "plan"]
    )
    builder.add_edge("reflect", "respond")
    builder.add_edge("respond", END)
    return builder.compile()


# Made once, in the fork server: LangGraph reads its nodes' sources, which takes 13 MiB. Without
# a checkpointer it runs inside another graph and is saved with that.
_nested = _agent_graph()


def create_agent_graph(checkpointer: BaseCheckpointSaver[str]) -> AgentGraph:
    """The session's graph."""
    graph = copy(_nested)
    graph.checkpointer = checkpointer
    return graph


async def run_nested(state: State, context: Context) -> State:
    """A sub-agent's turn, inside a node of the session's graph."""
    output = await _nested.ainvoke(
        state, {"recursion_limit": STEPS_MAX}, context=context, version="v2"
    )
    return output.value
