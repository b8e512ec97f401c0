// Mocha's spec reporter, which also leaves its counts in the file that COUNTS_FILE names, for the runner's closing line.
const { writeFileSync } = require("node:fs");
const Mocha = require("mocha");

class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const failures = [];
    runner.on("fail", (test, error) =>
      failures.push({ name: test.titlePath().join(" › "), detail: error.stack ?? error.message ?? String(error) }),
    );
    runner.once("end", () => {
      const { passes } = runner.stats;
      // In suites that stop at a failure, mocha passes over what follows, whichever suite had failed, without a word.
      const pending = Math.max(runner.stats.pending, (runner.total ?? 0) - passes - failures.length);
      if (pending > runner.stats.pending)
        process.stdout.write(`  ${pending - runner.stats.pending} not run after a failure\n\n`);
      if (process.env.COUNTS_FILE)
        writeFileSync(process.env.COUNTS_FILE, JSON.stringify({ passes, failures, pending }));
    });
  }
}

module.exports = CountingReporter;
