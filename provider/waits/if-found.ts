import { isNotFound } from "../../agent/runtime/index.js";

/** The result, or undefined for what is not there: an object, or a kind that a cluster without agent does not know. */
export async function ifFound<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
