// What the server's refusals mean, for those who do not read its English. Its own words follow: they
// name the field, the record or the bound.

const ZH: Readonly<Record<string, string>> = {
  INVALID_REQUEST: "填写的内容有误，请按提示更正",
  INVALID_FILE: "文件无法导入：不是导出的会话，或已损坏",
  UNKNOWN_TOOL: "没有这个工具，请更正",
  INVALID_RULE: "规则无法识别，请更正",
  RETENTION_LIMIT: "不能比组织保留得更多",
  SKILL_INVALID: "技能包被拒绝，请更正后重试",
  SKILL_EXISTS: "该版本的技能已存在，请换一个版本号",
  SKILL_TOO_LARGE: "技能包太大",
  MODEL_NOT_FOUND: "没有提供此模型的服务，请换一个模型",
  MODEL_KEY_MISSING: "此模型的提供商没有密钥，请保存一个或换一个模型",
  RUNTIME_UNSUPPORTED: "该机器没有此运行时，请另选",
  FORBIDDEN: "您没有此权限，请联系管理员",
  SCOPE_MISSING: "此令牌没有所需的权限",
  ROLE_REFUSED: "不能授予高于自己的角色",
  MCP_ADDRESS_REFUSED: "不允许私有地址，请由管理员设置 mcp_allowed_hosts",
  PUSH_ADDRESS_REFUSED: "推送服务位于私有地址，请由管理员设置 push_allowed_hosts",
  CONFLICT: "已存在，或已有人决定，请刷新查看",
  NAME_TAKEN: "名称已被使用，请换一个",
  ALREADY_ANSWERED: "已有人先回答",
  QUESTION_CUT: "问题过长且被截断，不能允许",
  APPLY_CONFLICT: "同一处被他人改动，未应用任何改动",
  NO_WORKTREE: "此会话没有自己的工作树",
  GIT_FAILED: "机器上的 git 失败",
  SESSION_CLOSED: "会话已关闭，请新建一个",
  SESSION_BUSY: "会话正忙，请稍后再试",
  SESSION_NOT_RUNNING: "会话未在运行，请先发一条消息",
  MACHINE_OFFLINE: "机器不在线，请等它连接后再试",
  MACHINE_DRAINING: "该机器不再接收新会话，请另选一台",
  MACHINE_BUSY: "等待该机器的消息太多，请稍后再试",
  TURN_NOT_ENDED: "该轮尚未结束，请稍后再试",
  TOO_LARGE: "内容太大",
  LIMIT_REACHED: "已达上限，请先删除一些或稍后再试",
  QUOTA_REACHED: "已达配额，请先删除一些",
  TOO_MANY_REQUESTS: "请求过多，请稍后再试",
  DISK_FULL: "服务器磁盘已满，请联系管理员",
  DATABASE_UNREACHABLE: "数据库没有响应，未作任何更改，请稍后再试",
  INTERNAL_ERROR: "服务器内部出错，日志中有原因",
};

export const CODES_IN_CHINESE: readonly string[] = Object.keys(ZH);

export function inChinese(code: string, message: string): string {
  const said = ZH[code];
  if (said === undefined) return message;
  return message === "" ? `${said}。` : `${said}（${message}）。`;
}
