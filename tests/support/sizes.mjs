// The same settings as in sizes.py: a test at the size of the gate, or of the night.
const night = Number(process.env.TIDEMARK_TEST_FACTOR || 1) > 1;
const seed = process.env.TIDEMARK_SEED;

/// Returns the cases that this run has: a third of them in the gate, another third with other seeds; all of them at
/// night, and where a test is run by hand.
export const someOf = (cases) => night || seed === undefined ? cases : cases.filter((_, number) => number % 3 === Number(seed) % 3);
