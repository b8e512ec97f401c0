/** Prints what is done, how it ended and how long it took; remembers the times for the closing table. */
export class Steps {
  private readonly done: { name: string; seconds: number }[] = [];

  constructor(private readonly write: (line: string) => void = (line) => console.log(line)) {}

  title(text: string): void {
    this.write(`\n── ${text} ──`);
  }

  note(text: string): void {
    for (const line of text.trimEnd().split("\n")) this.write(`    ${line}`);
  }

  /** Runs one step; what it returns is the outcome's detail, if it is text. A failure is printed with its reason and thrown on. */
  async run<T>(name: string, action: () => Promise<T>): Promise<T> {
    const started = Date.now();
    try {
      const result = await action();
      const seconds = (Date.now() - started) / 1000;
      this.done.push({ name, seconds });
      this.write(`✔ ${name}${typeof result === "string" && result ? `: ${result}` : ""} (${seconds.toFixed(1)} s)`);
      return result;
    } catch (error) {
      this.write(`✘ ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
      throw error;
    }
  }

  table(): void {
    this.title("How long it took");
    const width = Math.max(...this.done.map(({ name }) => name.length));
    for (const { name, seconds } of this.done) this.write(`${name.padEnd(width)}  ${seconds.toFixed(1).padStart(7)} s`);
  }
}
