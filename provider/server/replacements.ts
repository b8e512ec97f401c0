/**
 * Tells replacements that are made before the old resource is deleted (the options replaceOnChanges, and deleteBeforeReplace: false). IDs are the
 * names of things in the clusters, and a create takes up what is there: where the new resource has the old one's ID both are the same thing, and the
 * deletion that the engine asks for then would take the new one away. Of a resource that `pulumi up --replace` names the engine says nothing that tells it from a new one.
 */
export class Replacements {
  private readonly inState = new Set<string>();
  private readonly replaced = new Set<string>();

  /** The engine has asked about a resource that is in its state. */
  sawInState(urn: string): void {
    this.inState.add(urn);
  }

  /** A refresh takes it out of the state: what is made next replaces nothing. */
  isGone(urn: string): void {
    this.inState.delete(urn);
  }

  made(urn: string, id: string): void {
    if (this.inState.has(urn)) this.replaced.add(keyOf(urn, id));
  }

  /** Whether what is to be deleted is what has just been made in its place. Asked once for each deletion. */
  takeReplaced(urn: string, id: string): boolean {
    this.inState.delete(urn);
    return this.replaced.delete(keyOf(urn, id));
  }
}

function keyOf(urn: string, id: string): string {
  return `${urn} ${id}`;
}
