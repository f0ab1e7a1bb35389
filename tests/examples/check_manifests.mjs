// Checks each document of a file of Kubernetes manifests with the schema of its kind.
// Usage: check_manifests.mjs FILE; exit code 1 if one is wrong.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import yaml from "js-yaml";

const require = createRequire(import.meta.url);
let wrong = 0;
let read = 0;
for (const document of yaml.loadAll(readFileSync(process.argv[2], "utf8"))) {
  const { apiVersion, kind } = document;
  const { [kind]: Model } = require(`kubernetes-models/${apiVersion}/${kind}`);
  try {
    new Model(document).validate();
  } catch (problem) {
    console.error(`${kind}: ${problem.message}`);
    wrong += 1;
  }
  read += 1;
}
console.log(`${read} documents were read, ${wrong} are wrong`);
process.exit(wrong > 0 || read === 0 ? 1 : 0);
