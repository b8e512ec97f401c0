import { VERSION } from "../../version.js";

/** The image that a release of this version carries; test clusters load it under this name. */
export const defaultImage = `localhost/pulumi-liqo/agent:${VERSION}`;
