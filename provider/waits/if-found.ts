import { isForbidden, isNotFound } from "../../agent/runtime/index.js";

/** The result, or undefined for what is not there: an object, or a kind that a cluster without agent does not know. */
export async function ifFound<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The same for what may also be hidden from us: a peering user sees only what peering needs. */
export async function ifVisible<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await ifFound(work);
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
