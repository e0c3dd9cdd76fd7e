// What the server and machines say in fixed words, for those who do not read English: what happened to
// a machine, why a runtime cannot be used, what is searched with. What is not known here, as what a
// program printed, stays as it came.

type Phrase = readonly [RegExp, (...parts: string[]) => string];

const ZH: readonly Phrase[] = [
  // What happened to a machine.
  [/^(.+) \(it is started again every (\S+) minutes\)$/s, (why, minutes) => `${inner(why)}（每 ${minutes} 分钟重新启动一次）`],
  [/^died (\d+) times in a row; the last time it (.+)$/s, (count, why) => `连续 ${count} 次意外结束；最后一次：${inner(why)}`],
  [/^starting again, it (.+)$/s, (why) => `正在重新启动，上次：${inner(why)}`],
  [/^did not connect within (\S+) s$/, (seconds) => `${seconds} 秒内没有连接`],
  [/^lost its line and did not return within (\S+) s$/, (seconds) => `连接中断，${seconds} 秒内没有恢复`],
  [/^was ended by (SIG\w+)(: .+)?$/s, (signal, said = "") => `被 ${signal} 终止${said}`],
  [/^exited with (\d+)(: .+)?$/s, (code, said = "") => `以退出码 ${code} 结束${said}`],
  [/^runs under `trunkline up` alone$/, () => "仅随 `trunkline up` 运行"],
  [/^cannot be kept up: (.+)$/s, (why) => `无法维持运行：${why}`],
  [/^terminated by (\S+)$/, (who) => `由 ${who} 弃用`],
  [/^its join code ended unused$/, () => "接入代码未被使用就已失效"],
  // Why a runtime cannot be used.
  [/^Node\.js is not installed; OpenClaw needs (\S+) or later$/, (wanted) => `未安装 Node.js；OpenClaw 需要 ${wanted} 或更新版本`],
  [/^Node\.js (\S+) is too old; OpenClaw needs (\S+) or later$/, (has, wanted) => `Node.js ${has} 版本过旧；OpenClaw 需要 ${wanted} 或更新版本`],
  [/^this version of the daemon has no (\S+) runtime$/, (name) => `此版本的守护进程没有 ${name} 运行时`],
  [/^the Python package (\S+) is not installed$/, (name) => `未安装 Python 包 ${name}`],
  [/^not installed: (.+)$/, (names) => `未安装：${names}`],
  [/^(.+) is not installed(: .+)?$/s, (name, fix = "") => `未安装 ${name}${fix}`],
  [/^(.+) does not start: (.+)$/s, (name, why) => `${name} 无法启动：${inner(why)}`],
  [/^no answer within (\S+) s$/, (seconds) => `${seconds} 秒内没有回答`],
  [/^exit code (\d+)$/, (code) => `退出码 ${code}`],
  // What does not work as usual without the line.
  [/^searches find nothing$/, () => "搜索没有结果"],
  [/^calls fail, and the agent plans without them$/, () => "调用会失败，智能体会绕开它们"],
  [/^cannot be loaded$/, () => "无法加载"],
  [/^kept here and sent later$/, () => "暂存在机器上，稍后发送"],
  [/^skipped; the next one catches up$/, () => "跳过，由下一次补上"],
  // How the server runs.
  [/^SQLite in the data folder$/, () => "数据目录中的 SQLite"],
  [/^(.+), telling words$/, (model) => `${model}，只取有信息的词`],
  // Where a conversation comes from.
  [/^This conversation was begun with (\S+) in (.+)\.$/s, (runtime, folder) => `此对话最初由 ${runtime} 在 ${folder} 中开始。`],
];

export function phraseInChinese(said: string): string {
  for (const [pattern, words] of ZH) {
    const found = pattern.exec(said);
    if (found !== null) return words(...found.slice(1));
  }
  return said;
}

const inner = (said: string | undefined) => phraseInChinese(said ?? "");
