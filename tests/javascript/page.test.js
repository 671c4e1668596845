import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";

const PAGE = new URL("../../plugins/kafka_pareto_explorer/", import.meta.url);
const IMPORTED = /from "\.\/(?<name>\w+\.js)"/gu;

test("the page asks at once for every module that its script imports, and for no other", async () => {
  const html = await readFile(new URL("index.html", PAGE), "utf8");
  const preloaded = [...html.matchAll(/rel="modulepreload" href="static\/(?<name>[^"]+)"/gu)].map(
    (found) => found.groups.name,
  );
  const files = (await readdir(PAGE)).filter((name) => name.endsWith(".js"));
  const imported = new Set();
  for (const text of await Promise.all(files.map((name) => readFile(new URL(name, PAGE), "utf8")))) {
    for (const found of text.matchAll(IMPORTED)) imported.add(found.groups.name);
  }

  assert.deepEqual(preloaded.toSorted(), [...imported].toSorted());
  assert.deepEqual([...preloaded, "explorer.js"].toSorted(), files.toSorted());
});
