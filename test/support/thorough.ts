/** SCRIPTORIUM_TEST_ALL=1 tries every case; `npm test` a sample. */
export const thorough = Boolean(process.env.SCRIPTORIUM_TEST_ALL);

/** How many cases to draw. */
export const draws = (daily: number, all: number) => ({ numRuns: thorough ? all : daily });
