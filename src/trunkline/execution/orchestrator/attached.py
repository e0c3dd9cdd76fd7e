"""What comes with a message or out of a tool besides words: files are kept where the session's
tools can read them, and pictures are shown to models that can see.
"""

from collections.abc import Iterable, Sequence

from trunkline.execution.attachments import Attachment, lines
from trunkline.execution.errors import PictureRefused
from trunkline.execution.llm.base import Message, Picture
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.tools.base import Image

_MAGIC = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8")
RESULT_IMAGES_MAX = 10  # of one tool's result


async def received(context: Context, message: str, attachments: Sequence[Attachment]) -> Message:
    """A person's message as the conversation has it."""
    said = Message(role="user", content=message)
    if not attachments:
        return said
    notes = lines(context.folder, attachments, base=context.workspace)
    images = [Image(one.mime, one.data, one.name) for one in attachments if _is_picture(one)]
    pictures, problems = await kept_pictures(context, images)
    if pictures:
        said["pictures"] = pictures
    said["content"] = "\n".join([message, "", "Attached files:", *notes, *problems]).strip()
    return said


async def kept_pictures(
    context: Context, images: Iterable[Image]
) -> tuple[list[Picture], list[str]]:
    """The images as pictures of the conversation, and why the others are none."""
    pictures: list[Picture] = []
    problems: list[str] = []
    for image in images:
        try:
            pictures.append(await context.pictures.keep(image))
        except PictureRefused as error:
            problems.append(f"[picture {image.name or image.media_type}: not shown, {error}]")
    return pictures, problems


def _is_picture(attachment: Attachment) -> bool:
    if attachment.refused or attachment.mime == "image/svg+xml":
        return False
    return attachment.mime.startswith("image/") or attachment.data.startswith(_MAGIC)
