"""Routes of Web Push: the browsers of a person that are told when a session needs them."""

import msgspec

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.push.subscriptions import (
    NewSubscription,
    PushSubscription,
    SubscriptionPatch,
)

push = Routes("push")


class PushState(msgspec.Struct, kw_only=True):
    """`public_key`: what a browser subscribes with, its `applicationServerKey`."""

    public_key: str
    subscriptions: list[PushSubscription]


@push.get("/push")
async def get_push(core: Core, who: Principal) -> PushState:
    """Show this server's key for Web Push, and your own subscriptions."""
    found = await core.push.subscriptions.all(who)
    return PushState(public_key=core.push.public_key, subscriptions=found)


@push.post("/push/subscriptions", status=201, scope="talk", audit="push.subscribed")
async def subscribe(core: Core, who: Principal, body: NewSubscription) -> PushSubscription:
    """Have a browser told when a session of yours needs you, or is done and nobody looks.

    It ends with the login that made it. The same endpoint again replaces what was said before.
    """
    return await core.push.subscribe(who, body)


@push.patch("/push/subscriptions/{subscription_id}", scope="talk", audit="push.changed")
async def change_subscription(
    core: Core, who: Principal, subscription_id: str, body: SubscriptionPatch
) -> PushSubscription:
    """Change what a browser is told, and when not."""
    return await core.push.subscriptions.change(who, subscription_id, body)


@push.delete("/push/subscriptions/{subscription_id}", scope="talk", audit="push.removed")
async def unsubscribe(core: Core, who: Principal, subscription_id: str) -> None:
    """Tell a browser nothing more."""
    await core.push.subscriptions.remove(who, subscription_id)


@push.post(
    "/push/subscriptions/{subscription_id}/test", status=204, scope="talk", audit="push.tested"
)
async def test_subscription(core: Core, who: Principal, subscription_id: str) -> None:
    """Send a message to a browser now, to see whether it arrives.

    `PUSH_FAILED` says why its push service did not take it.
    """
    await core.push.test(who, subscription_id)
