// Mocha's spec reporter, which also leaves its counts in the file that COUNTS_FILE names, for the runner's closing line.
const { writeFileSync } = require("node:fs");
const Mocha = require("mocha");

class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.once("end", () => {
      const { passes, failures, pending } = runner.stats;
      if (process.env.COUNTS_FILE)
        writeFileSync(process.env.COUNTS_FILE, JSON.stringify({ passes, failures, pending }));
    });
  }
}

module.exports = CountingReporter;
