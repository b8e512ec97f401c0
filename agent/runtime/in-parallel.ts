/**
 * Does the work for each item, for at most so many at the same time, and returns the answers in the items' order. Rejects with the first failure, while the others go
 * on; where all fail, no more is begun.
 */
export async function inParallel<T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = [];
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of left) answers[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return answers;
}
