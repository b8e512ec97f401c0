import { randomUUID } from "node:crypto";
import { unlink, writeFile } from "node:fs/promises";

/** Memory-backed in every pod. */
const FOLDER = "/dev/shm";

/** Gives a program's input as a file in memory that only this user can read, and that goes when the work is done. */
export async function withMemoryFile<T>(text: string, work: (file: string) => Promise<T>): Promise<T> {
  const file = `${FOLDER}/${randomUUID()}`;
  try {
    await writeFile(file, text, { mode: 0o400, flag: "wx" });
    return await work(file);
  } finally {
    await unlink(file).catch(() => undefined);
  }
}
