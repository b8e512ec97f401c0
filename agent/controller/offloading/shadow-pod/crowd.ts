/** Tells whether many things have come within a short time. */
export class Crowd {
  /** The times of the last ones, oldest first; milliseconds. */
  private readonly times: number[] = [];

  constructor(
    private readonly size: number,
    private readonly withinMs: number,
    private readonly now = Date.now,
  ) {}

  come(): void {
    this.times.push(this.now());
    if (this.times.length > this.size) this.times.shift();
  }

  /** Whether `size` of them came within the last `withinMs` milliseconds. */
  get isThere(): boolean {
    const [oldest] = this.times;
    return this.times.length >= this.size && oldest !== undefined && this.now() - oldest < this.withinMs;
  }
}
