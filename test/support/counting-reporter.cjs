// Mocha's spec reporter, which also leaves its counts in the file that COUNTS_FILE names, for the runner's closing line: after each test, so that of a run
// that is ended over its limit is known what failed until then.
const { writeFileSync } = require("node:fs");
const Mocha = require("mocha");

class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const failures = [];
    const leave = (pending, ended) => {
      const { passes } = runner.stats;
      if (process.env.COUNTS_FILE)
        writeFileSync(process.env.COUNTS_FILE, JSON.stringify({ passes, failures, pending, ended }));
    };
    runner.on("pass", () => leave(runner.stats.pending, false));
    runner.on("fail", (test, error) => {
      failures.push({ name: test.titlePath().join(" › "), detail: error.stack ?? error.message ?? String(error) });
      leave(runner.stats.pending, false);
    });
    runner.once("end", () => {
      // In suites that stop at a failure, mocha passes over what follows, whichever suite had failed, without a word.
      const pending = Math.max(runner.stats.pending, (runner.total ?? 0) - runner.stats.passes - failures.length);
      if (pending > runner.stats.pending)
        process.stdout.write(`  ${pending - runner.stats.pending} not run after a failure\n\n`);
      leave(pending, true);
    });
  }
}

module.exports = CountingReporter;
