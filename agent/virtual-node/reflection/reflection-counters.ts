/** How often objects have been reflected, and how often that has failed, by local namespace and kind. */
export class ReflectionCounters {
  private readonly counts = new Map<string, ReflectionCount>();

  /** Runs one pass over one object, and counts it. */
  async count<T>(namespace: string, resource: string, pass: () => Promise<T>): Promise<T> {
    const key = `${namespace}/${resource}`;
    const count = this.counts.get(key) ?? { namespace, resource, items: 0, errors: 0 };
    this.counts.set(key, count);
    count.items += 1;
    try {
      return await pass();
    } catch (error) {
      count.errors += 1;
      throw error;
    }
  }

  list(): ReflectionCount[] {
    return [...this.counts.values()];
  }
}

export interface ReflectionCount {
  namespace: string;
  /** The kind, as in "ConfigMap". */
  resource: string;
  items: number;
  errors: number;
}
