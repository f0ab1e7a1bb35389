// The accounts of the stores that the harness starts.
export const account = "devstoreaccount1";
// The well-known key of the storage emulators: no secret.
export const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
/// A second account, which only the blob store has.
export const neighbour = { name: "neighbour", key: Buffer.from("the key of the second account").toString("base64") };
