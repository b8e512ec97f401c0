import { run } from "../support/exec.js";
import { netnsPath } from "./paths.js";

/** Runs a program inside a node's network namespace (its mounts stay: `ip netns exec` would hide the cgroups). */
export function inNetns(node: string, program: string, args: string[], input = ""): Promise<string> {
  return run("nsenter", [`--net=${netnsPath(node)}`, program, ...args], { input });
}
