import { decodeAll, decodeOid, type DerValue } from "./der.js";

export const COMMON_NAME = "2.5.4.3";
export const ORGANIZATION = "2.5.4.10";

/** Whom a certificate is asked for. Each value counts: of every organization an API server makes a group. */
export interface RequestedSubject {
  commonNames: string[];
  organizations: string[];
  /** Attributes other than these. */
  otherAttributes: number;
}

/**
 * Reads a Name (RFC 5280, §4.1.2.4).
 *
 * @throws Error when it cannot be read
 */
export function readSubject(name: DerValue): RequestedSubject {
  const attributes = decodeAll(name.content)
    .flatMap(({ content }) => decodeAll(content))
    .map(readAttribute);
  const valuesOf = (type: string): string[] =>
    attributes.filter(({ oid }) => oid === type).map(({ value }) => value.content.toString("utf8"));
  const [commonNames, organizations] = [valuesOf(COMMON_NAME), valuesOf(ORGANIZATION)];
  const otherAttributes = attributes.length - commonNames.length - organizations.length;
  return { commonNames, organizations, otherAttributes };
}

/** What it is, and its value. */
export function readAttribute({ content }: DerValue): { oid: string; value: DerValue } {
  const [oid, value] = decodeAll(content);
  if (!oid || !value) throw new Error("an attribute of the request cannot be read");
  return { oid: decodeOid(oid), value };
}
