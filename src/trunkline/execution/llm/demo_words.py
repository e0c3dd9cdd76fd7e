"""What the demo model says, in English and Chinese."""

HELP = """\
I am the built-in demo model of Trunkline. I am a small program, not an AI: I understand a few \
commands and use real tools on this machine.

- `list the files here`, `read <file>`, `write <file>: <text>`, `search <words>`
- `run <command>`, `python <code>`
- `search the web for <words>`, `fetch <address>`
- `remember <something>`, `recall <something>`
- `ask me <question>`, `delegate to <agent>: <task>`

Several commands, one to a line, run at the same time. Anything else goes to the small local \
model (SmolLM2, 135 million parameters), if it is installed. For a real model, set an OpenAI or \
Anthropic API key or a base URL.

I understand Chinese too: 帮助, 列出文件, 读取, 写入, 搜索, 运行, 记住, 问我.
"""

HELP_ZH = """\
我是 Trunkline 内置的演示模型。我只是一个小程序，不是人工智能：\
我认识几条简单的命令，会在这台机器上使用真正的工具。

- `列出文件`、`读取 <文件>`、`写入 <文件>：<内容>`、`搜索 <词>`
- `运行 <命令>`、`python <代码>`
- `上网搜索 <词>`、`抓取 <网址>`
- `记住 <内容>`、`回忆 <内容>`
- `问我 <问题>`、`委托 <代理>：<任务>`

每行一条命令时，它们会同时执行。其他文字交给本机的小模型（SmolLM2，1.35 亿参数），如果已经安装。\
要用真正的模型，请设置 OpenAI 或 Anthropic 的 API key，或者 base URL。
"""

INTRODUCTION = (
    "This is the built-in demo model: a small program that understands a few commands (say "
    "“help”). Set an API key for a real model."
)
INTRODUCTION_ZH = (
    "这是内置的演示模型：一个只认识几条命令的小程序（输入“帮助”）。要用真正的模型，请设置 API key。"
)

NO_TOOL = "This agent has no tool `{tool}`, so I cannot do that."
NO_TOOL_ZH = "这个代理没有工具 `{tool}`，所以我做不到。"

FREE_TEXT = (
    "I am only the built-in demo model and understand a few commands: say `help`. Free text would "
    "go to the small local model, but: {reason}\n\nFor real answers, set an OpenAI or Anthropic "
    "API key, or the base URL of an OpenAI-compatible server."
)
FREE_TEXT_ZH = (
    "我只是内置的演示模型，只认识几条命令：输入 `帮助` 查看。"
    "其他文字本来交给本机的小模型，但是：{reason}\n\n"
    "想要真正的回答，请设置 OpenAI 或 Anthropic 的 API key，或者兼容 OpenAI 的服务器的 base URL。"
)
