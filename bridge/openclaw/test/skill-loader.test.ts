import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, test } from "node:test";
import type { Json } from "../src/json.ts";
import { checkedFiles, loadSkill, skillAt } from "../src/skill-loader.ts";

const GUIDE = '---\nname: "PDF tools"\ndescription: x\n---\nDo.\n';
let cache = "";
let asked: Json[] = [];

beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), "skills-"));
  asked = [];
});

function sends(files: Json[], version = "v1"): (method: string, params: Json) => Promise<unknown> {
  return async (method, params) => {
    asked.push({ method, ...params });
    return { package: { version, files } };
  };
}

const nobody = async (): Promise<never> => {
  throw new Error("nobody is to be asked");
};

test("a skill that is in the cache is used as it is", async () => {
  await mkdir(join(cache, "pdf"));
  await writeFile(join(cache, "pdf", "SKILL.md"), GUIDE);
  const skill = await loadSkill({ id: "pdf", name: "pdf" }, cache, nobody);
  assert.deepEqual(skill, { id: "pdf", name: "PDF tools", folder: join(cache, "pdf") });
});

test("a missing skill is asked for, and kept as the whole folder of its package", async () => {
  const files = [
    { path: "SKILL.md", content: GUIDE },
    { path: "scripts/run.py", content: Buffer.from("#!/usr/bin/python\n").toString("base64"), encoding: "base64" },
  ];
  const skill = await loadSkill({ id: "pdf", version: "v1" }, cache, sends(files));
  assert.deepEqual(asked, [{ method: "get_skill_package", skill_id: "pdf", version: "v1" }]);
  assert.equal(skill.name, "PDF tools");
  assert.equal(await readlink(join(cache, "pdf")), join(".packages", "pdf", "v1"));
  assert.equal(await readFile(join(cache, "pdf", "scripts", "run.py"), "utf8"), "#!/usr/bin/python\n");
  assert.equal((await stat(join(cache, "pdf", "scripts", "run.py"))).mode & 0o111, 0o111);
  await loadSkill({ id: "pdf", version: "v1" }, cache, nobody);
});

test("another version takes the place of the one that is shown", async () => {
  const files = [{ path: "SKILL.md", content: GUIDE }];
  await loadSkill({ id: "pdf", version: "v1" }, cache, sends(files, "v1"));
  await loadSkill({ id: "pdf", version: "v2" }, cache, sends(files, "v2"));
  assert.equal(await readlink(join(cache, "pdf")), join(".packages", "pdf", "v2"));
  await loadSkill({ id: "pdf", version: "v1" }, cache, nobody);
  assert.equal(await readlink(join(cache, "pdf")), join(".packages", "pdf", "v1"));
});

test("a version that was not asked for is refused", async () => {
  const files = [{ path: "SKILL.md", content: GUIDE }];
  await assert.rejects(loadSkill({ id: "pdf", version: "v1" }, cache, sends(files, "v9")), /v9 came/);
});

test("ids that lead elsewhere are refused before anybody is asked", async () => {
  for (const id of ["..", "../x", "a/b", ".hidden", "", "latest", "a\0b", "x".repeat(300)]) {
    await assert.rejects(loadSkill({ id }, cache, nobody), /no folder name/);
  }
});

test("paths that lead out of the package are refused", () => {
  const guide = { path: "SKILL.md", content: "x" };
  const bad = ["../x", "/etc/passwd", "a/../../b", "a//b", "a\\b", "./x", "", "c:x", "a\0b"];
  for (const path of bad) {
    assert.throws(() => checkedFiles([guide, { path, content: "x" }]), /path/);
  }
  assert.throws(() => checkedFiles([{ path: "README.md", content: "x" }]), /no SKILL.md/);
  assert.throws(() => checkedFiles([guide, guide]), /twice/);
  assert.throws(() => checkedFiles([guide, { path: "x" }]), /no content/);
  assert.throws(() => checkedFiles("files"), /no list/);
});

test("nothing of a refused package is left behind", async () => {
  const files = [{ path: "SKILL.md", content: GUIDE }, { path: "../../evil", content: "x" }];
  await assert.rejects(loadSkill({ id: "pdf" }, cache, sends(files)));
  await assert.rejects(stat(join(cache, ".packages")));
});

test("a guide is found by its path, ours and OpenClaw's own", () => {
  const skills = [{ id: "pdf", name: "PDF tools", folder: "/skills/pdf" }];
  assert.equal(skillAt(skills, "/skills/pdf/SKILL.md"), "PDF tools");
  assert.equal(skillAt(skills, "/lib/openclaw/skills/weather/SKILL.md"), "weather");
  assert.equal(skillAt(skills, "/skills/pdf/README.md"), undefined);
});
