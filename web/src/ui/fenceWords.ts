// What a machine says of its fence (`files: kernel; signals: kernel; …`), for those who do not read
// English. A person decides by it, so what is not known here stays in the machine's own words.

type Value = readonly [RegExp, string];

const KERNEL: Value = [/^kernel$/, "由内核限制"];
const BOUNDED: Value = [/^bounded$/, "有上限"];
const OPEN: Value = [/^open$/, "开放"];

const ZH: Readonly<Record<string, readonly [string, ...Value[]]>> = {
  files: [
    "文件",
    KERNEL,
    [/^all, as this program decides$/, "全部，由该程序自行决定"],
    [
      /^all but other sessions and the control plane's data, as this program decides$/,
      "除其他会话和控制平面的数据外全部，由该程序自行决定",
    ],
  ],
  mounts: [
    "挂载",
    [/^its own$/, "会话自有"],
    [/^its own, with (\S+)$/, "会话自有，包括 $1"],
    [/^its own, with (\S+) and (\S+)$/, "会话自有，包括 $1 和 $2"],
    [/^no \(this system allows none\)$/, "无（系统不允许）"],
  ],
  signals: ["信号", KERNEL, [/^no \(old kernel\)$/, "不限制（内核过旧）"]],
  sockets: ["套接字", [/^blocked$/, "已阻止"], [/^no$/, "不限制"], OPEN],
  network: [
    "网络",
    OPEN,
    [/^off for commands$/, "对命令关闭"],
    [/^list, through this machine's proxy$/, "仅限名单，经由本机代理"],
  ],
  memory: ["内存", BOUNDED, [/^bounded and watched$/, "有上限并受监视"]],
  processes: ["进程", BOUNDED, [/^watched$/, "受监视"]],
  "runs as root": [
    "以 root 运行",
    [/^what root may, commands may inside of the fence$/, "命令在隔离范围内可做 root 能做的一切"],
  ],
  "other programs": [
    "其他程序",
    [/^other sessions and the data folder are hidden$/, "看不到其他会话和数据目录"],
    [/^nothing is hidden$/, "没有隐藏任何内容"],
  ],
  "no fence": [
    "无隔离",
    [/^it is switched off on this machine$/, "在这台机器上已关闭"],
    [/^the kernel has Landlock, and it does not hold$/, "内核有 Landlock，但不起作用"],
    [
      /^the kernel has no Landlock \(Linux (\S+) or newer has, where it is switched on\)$/,
      "内核没有 Landlock（Linux $1 或更新版本才有，且需启用）",
    ],
    [/^(\S+) has nothing that is known here$/, "$1 没有可用的隔离机制"],
  ],
};

export function fenceInChinese(said: string): string {
  return said.split("; ").map(partInChinese).join("；");
}

function partInChinese(part: string): string {
  const end = part.indexOf(": ");
  const name = part.slice(0, Math.max(end, 0));
  const known = Object.hasOwn(ZH, name) ? ZH[name] : undefined;
  if (known === undefined) return part;
  const [label, ...values] = known;
  const value = part.slice(end + 2);
  const found = values.find(([pattern]) => pattern.test(value));
  return `${label}：${found === undefined ? value : value.replace(...found)}`;
}
