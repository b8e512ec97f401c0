import { isNotFound } from "../../runtime/index.js";

/**
 * The result of writing to an object, undefined when it has just been deleted: a cache tells of that a moment later, and nothing is left
 * to be done.
 */
export async function unlessGone<T>(write: Promise<T>): Promise<T | undefined> {
  try {
    return await write;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
