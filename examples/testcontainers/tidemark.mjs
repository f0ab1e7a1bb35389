// A stack in a container, for tests: `await using stack = await startTidemark()` starts it and removes it afterwards.
import { GenericContainer, Wait } from "testcontainers";

const BLOB = 10000, QUEUE = 10001, TABLE = 10002, API = 10003;
const ACCOUNT = "devstoreaccount1";
const KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

export async function startTidemark(image = process.env.TIDEMARK_IMAGE ?? "tidemark") {
  const container = await new GenericContainer(image)
    .withExposedPorts(BLOB, QUEUE, TABLE, API)
    .withWaitStrategy(Wait.forHttp("/readyz", API))
    .start();
  const url = (port) => `http://${container.getHost()}:${container.getMappedPort(port)}`;
  return {
    api: url(API),
    connectionString: [
      "DefaultEndpointsProtocol=http", `AccountName=${ACCOUNT}`, `AccountKey=${KEY}`, `BlobEndpoint=${url(BLOB)}/${ACCOUNT}`,
      `QueueEndpoint=${url(QUEUE)}/${ACCOUNT}`, `TableEndpoint=${url(TABLE)}/${ACCOUNT}`,
    ].join(";"),
    stop: () => container.stop(),
    [Symbol.asyncDispose]: () => container.stop(),
  };
}
