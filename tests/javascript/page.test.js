import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";

const PAGE = new URL("../../plugins/kafka_pareto_explorer/", import.meta.url);
const IMPORTED = /from "\.\/(?<name>\w+\.js)"/gu;

const SCRIPTS = { "index.html": "explorer.js", "comparisons.html": "comparisons.js" };

const text = (name) => readFile(new URL(name, PAGE), "utf8");

/** Every module that a script imports, directly or through another one. */
async function importedBy(name, found = new Set()) {
  const names = [...(await text(name)).matchAll(IMPORTED)].map((each) => each.groups.name);
  for (const each of names.filter((other) => !found.has(other))) {
    found.add(each);
    // biome-ignore lint/performance/noAwaitInLoops: each module is read once
    await importedBy(each, found);
  }
  return found;
}

for (const [page, script] of Object.entries(SCRIPTS)) {
  test(`${page} preloads exactly the modules that its script imports`, async () => {
    const preloaded = [...(await text(page)).matchAll(/rel="modulepreload" href="static\/(?<name>[^"]+)"/gu)].map(
      (found) => found.groups.name,
    );

    assert.deepEqual(preloaded.toSorted(), [...(await importedBy(script))].toSorted());
    assert.match(await text(page), new RegExp(`src="static/${script}"`, "u"));
  });
}

test("every module belongs to a page", async () => {
  const files = (await readdir(PAGE)).filter((name) => name.endsWith(".js"));
  const used = await Promise.all(Object.values(SCRIPTS).map(async (script) => [script, ...(await importedBy(script))]));

  assert.deepEqual([...new Set(used.flat())].toSorted(), files.toSorted());
});
