/**
 * For suites whose tests go on from where the one before has ended: after a failure the rest of the suite is skipped, and counted as such. Mocha's own
 * `bail` would pass over every later suite as well, without a word.
 */
export function stopAtFirstFailure(): void {
  let hasFailed = false;
  beforeEach(function () {
    if (hasFailed) this.skip();
  });
  afterEach(function () {
    hasFailed ||= this.currentTest?.state === "failed";
  });
}
