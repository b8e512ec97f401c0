/** Tells a person what is being done. */
export interface Progress {
  /** Runs one step and reports it with the seconds it took. `announce` also tells of its start: for steps of minutes. */
  step<T>(label: string, work: () => Promise<T>, announce?: boolean): Promise<T>;
  note(text: string): void;
}

/** Lines on a stream (standard error by default, so that standard output stays for answers). */
export function lineProgress(write: (line: string) => void = (line) => process.stderr.write(`${line}\n`)): Progress {
  return {
    async step(label, work, announce = false) {
      const start = performance.now();
      if (announce) write(`  … ${label}`);
      try {
        const result = await work();
        write(`  ✓ ${label}  ${seconds(start)}`);
        return result;
      } catch (error) {
        write(`  ✗ ${label}  ${seconds(start)}`);
        throw error;
      }
    },
    note: (text) => write(`  ${text}`),
  };
}

/** Says nothing. */
export const silent: Progress = { step: (_label, work) => work(), note: () => undefined };

function seconds(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}
