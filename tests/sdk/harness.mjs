// Starts the stores that a test file needs on free ports with a temporary data directory, runs the file (*.test.mjs with
// node's test runner, python/*_test.py with Debian's python3, which has Debian's Azure SDK), and stops the stores again.
// The file's name tells which stores it needs (tables, queues, blobs); a first line "// stores: table queue" (in Python
// "# stores: ...") overrides that and may name api and worker, too.
// With "https" among them they speak HTTPS, by a certificate for localhost whose authority the file's process trusts
// (TIDEMARK_CA_FILE).
// With "bearer" too they accept tokens of the issuer TIDEMARK_ISSUER, whose keys they request at TIDEMARK_ISSUER_KEYS:
// the file runs it, with the same certificate (TIDEMARK_CA_FILE, TIDEMARK_TLS_KEY_FILE). Endpoints reach the tests as
// TIDEMARK_TABLE_URL, _QUEUE_URL, _BLOB_URL, _API_URL; TIDEMARK_BIN and TIDEMARK_DATA are set too. If one of the URLs
// is set already, that store is assumed to be running.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../support/ports.mjs";
import { account, key, neighbour } from "./accounts.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const programs = {
  table: { program: "table_store", variable: "TIDEMARK_TABLE_URL" },
  queue: { program: "queue_service", variable: "TIDEMARK_QUEUE_URL" },
  blob: { program: "blob_store", variable: "TIDEMARK_BLOB_URL", more: ["--accounts", `${account}:${key},${neighbour.name}:${neighbour.key}`] },
};
// Programs that a file may name in addition to the stores.
const others = {
  api: { program: "api", variable: "TIDEMARK_API_URL" },
  worker: { program: "worker", arguments: ["--poll-s", "2", "--analytics-collect-s", "1"] },
};
const readyTimeoutMs = 60_000;
const stopTimeoutMs = 60_000;

function storesFor(file) {
  const declared = /^(?:\/\/|#) stores:(.*)$/m.exec(readFileSync(file, "utf8").split("\n", 1)[0]);
  const wanted = declared
    ? declared[1].trim().split(/\s+/)
    : Object.keys(programs).filter((name) => path.basename(file).startsWith(name));
  const unknown = wanted.find((name) => !programs[name] && !others[name] && name !== "https" && name !== "bearer");
  if (unknown !== undefined) throw new Error(`${file}: unknown store ${unknown}`);
  return wanted.length > 0 ? wanted : Object.keys(programs);
}

// Makes a certificate for localhost, and the settings with which a client trusts it.
function makeCertificate(directory) {
  const files = { certificate: path.join(directory, "tls.pem"), key: path.join(directory, "tls.key") };
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", files.key, "-out", files.certificate],
    { stdio: "ignore" });
  return {
    arguments: ["--tls-certificate-file", files.certificate, "--tls-key-file", files.key],
    environment: { TIDEMARK_CA_FILE: files.certificate, TIDEMARK_TLS_KEY_FILE: files.key, NODE_EXTRA_CA_CERTS: files.certificate, REQUESTS_CA_BUNDLE: files.certificate },
  };
}

// Settings for rows in PostgreSQL, in a database of their own (tests/support/postgres.py).
function engineSettings() {
  if (!process.env.TIDEMARK_TEST_POSTGRES) return {};
  const code = "import json, postgres; print(json.dumps(postgres.stack_settings()))";
  return JSON.parse(execFileSync("/usr/bin/python3", ["-B", "-c", code], { cwd: path.join(here, "..", "support") }));
}

// Finds the address at which the file will run its token issuer.
async function placeIssuer(tls) {
  const origin = `https://localhost:${await freePort()}`;
  const keys = `${origin}/keys`;
  tls.arguments.push("--bearer-issuer", `${origin}/tenant/v2.0`, "--bearer-keys", keys, "--bearer-keys-ca-file", tls.environment.TIDEMARK_CA_FILE);
  Object.assign(tls.environment, { TIDEMARK_ISSUER: `${origin}/tenant/v2.0`, TIDEMARK_ISSUER_KEYS: keys });
}

// Settings for stores whose rows are divided over shards, as in tests/support/shards.py.
function shardsOf(name) {
  const count = process.env.TIDEMARK_TEST_SHARDS;
  return count && ["queue", "blob", "table"].includes(name) ? ["--shards", count] : [];
}

// Resolves when the program has printed its ready line, with its port if it has one.
function startStore(bin, name, data, tls, engine) {
  const { program, more = [], arguments: line = ["--port", "0", ...more, ...(programs[name] ? ["--analytics-flush-s", "1"] : []), ...shardsOf(name), ...(tls?.arguments ?? [])] } = programs[name] ?? others[name];
  const child = spawn(path.join(bin, program), ["--data", data, ...line], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...engine } });
  const store = { name, program, child, errors: "", expectedExit: false, exited: false };
  child.stderr.on("data", (piece) => (store.errors += piece));
  store.exit = new Promise((resolve) => {
    child.on("exit", (code, signal) => {
      store.exited = true;
      store.exitText = signal ?? `${code}`;
      store.clean = code === 0;
      resolve();
    });
  });
  const ready = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${program} was not ready in time`)), readyTimeoutMs);
    let output = "";
    child.stdout.on("data", (piece) => {
      output += piece;
      const match = new RegExp(`ready ${program}\\b.*?(?:\\bport=(\\d+)|\\n)`).exec(output);
      if (!match) return;
      clearTimeout(timer);
      store.port = Number(match[1] ?? 0);
      resolve();
    });
    child.on("error", (error) => {
      clearTimeout(timer);
      store.exited = true;
      reject(new Error(`${program} could not be started: ${error.message}`));
    });
    child.on("exit", () => {
      clearTimeout(timer);
      if (store.port === undefined) reject(new Error(`${program} ended before it was ready (${store.exitText})`));
    });
  });
  return { store, ready };
}

async function stopStore(store) {
  if (store.exited) return store.clean === true;
  store.child.kill("SIGTERM");
  const timer = setTimeout(() => store.child.kill("SIGKILL"), stopTimeoutMs);
  await store.exit;
  clearTimeout(timer);
  return store.clean;
}

function runTests(file, environment) {
  return new Promise((resolve) => {
    const [program, ...line] = file.endsWith(".py")
      ? ["/usr/bin/python3", file, "--verbose"]
      : [process.execPath, "--test-reporter=spec", file];
    const child = spawn(program, line, {
      stdio: "inherit",
      env: { ...process.env, ...environment },
      cwd: here,
    });
    child.on("exit", (code) => resolve(code === 0));
  });
}

async function runFile(bin, file) {
  const data = mkdtempSync(path.join(tmpdir(), "tidemark-sdk-"));
  const stores = [];
  const environment = { TIDEMARK_BIN: bin, TIDEMARK_DATA: data };
  let passed = false;
  try {
    const wanted = storesFor(file);
    const tls = wanted.includes("https") ? makeCertificate(data) : undefined;
    if (wanted.includes("bearer")) await placeIssuer(tls);
    const engine = engineSettings();
    const origin = tls ? "https://localhost" : "http://127.0.0.1";
    Object.assign(environment, tls?.environment);
    for (const name of wanted.filter((each) => programs[each] || others[each])) {
      const { program, variable } = programs[name] ?? others[name];
      const foreign = Object.values(programs).some((each) => process.env[each.variable]);
      if (process.env[variable] || (others[name] && foreign)) continue;
      const { store, ready } = startStore(bin, name, data, tls, engine);
      stores.push(store);
      await ready;
      if (variable) environment[variable] = `${origin}:${store.port}${programs[name] ? `/${account}` : ""}`;
      console.log(`${program} listens on ${store.port}`);
    }
    passed = await runTests(file, environment);
  } catch (error) {
    console.error(`${path.basename(file)}: ${error.message}`);
  }
  for (const store of stores.reverse()) {
    const clean = await stopStore(store);
    if (!clean) {
      console.error(`${store.program} did not end cleanly: ${store.exitText}`);
      passed = false;
    }
  }
  if (!passed) for (const store of stores) console.error(`--- stderr of ${store.program}\n${store.errors.slice(-20_000)}`);
  rmSync(data, { recursive: true, force: true });
  return passed;
}

const [bin, ...chosen] = process.argv.slice(2);
const present = [...readdirSync(here), ...readdirSync(path.join(here, "python")).map((name) => `python/${name}`)];
const suites = present.filter((name) => name.endsWith(".test.mjs") || name.endsWith("_test.py")).sort();
const files = (chosen.length > 0 ? chosen : suites).map((name) => path.resolve(here, name));
let failed = 0;
for (const file of files) {
  if (!(await runFile(bin, file))) failed += 1;
}
process.exit(failed === 0 ? 0 : 1);
