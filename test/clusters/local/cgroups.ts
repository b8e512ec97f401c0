import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { identify, type ProcessIdentity } from "../support/processes.js";
import { cgroupRoot } from "./paths.js";

/**
 * Each node has a control group of its own below which its kubelet keeps the pods' groups: two kubelets with a common
 * one would end each other's pods.
 */
const MOUNT = "/sys/fs/cgroup";

const unified = (): boolean => existsSync(join(MOUNT, "cgroup.controllers"));

/** The hierarchies in use: the one of cgroup v2, or every mounted one of v1 with the v2 hierarchy that runc adds to. */
function hierarchies(): string[] {
  if (unified()) return [MOUNT];
  const mounts = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "));
  return mounts.filter((fields) => fields[2]?.startsWith("cgroup")).map((fields) => fields[1] ?? "");
}

/** Makes sure of a node's group in every hierarchy. */
export function ensureCgroups(node: string): void {
  for (const hierarchy of hierarchies()) {
    const group = join(hierarchy, cgroupRoot(node));
    mkdirSync(group, { recursive: true });
    // In v1 a new cpuset is empty and takes no process until it has processors and memory.
    for (const file of ["cpuset.cpus", "cpuset.mems"]) inheritWhereEmpty(hierarchy, group, file);
  }
  if (unified()) delegate(MOUNT);
}

function inheritWhereEmpty(parent: string, group: string, file: string): void {
  const path = join(group, file);
  if (unified() || !existsSync(path) || readFileSync(path, "utf8").trim() !== "") return;
  writeFileSync(path, readFileSync(join(parent, file), "utf8"));
}

function delegate(parent: string): void {
  const available = readFileSync(join(parent, "cgroup.controllers"), "utf8").trim().split(" ");
  for (const controller of available) {
    try {
      writeFileSync(join(parent, "cgroup.subtree_control"), `+${controller}`);
    } catch {
      // A controller that cannot be delegated is missed by the kubelet with a message of its own.
    }
  }
}

/** Processes in a node's groups: those of its pods. */
export function cgroupProcesses(node: string): ProcessIdentity[] {
  const pids = new Set<number>();
  for (const group of groupsOf(node)) {
    for (const line of readLines(join(group, "cgroup.procs"))) pids.add(Number(line));
  }
  return [...pids].flatMap((pid) => identify(pid) ?? []);
}

/** Removes a node's groups; those with a process left stay and are named in the answer. */
export function removeCgroups(node: string): string[] {
  return groupsOf(node).filter((group) => {
    try {
      rmdirSync(group);
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== "ENOENT";
    }
  });
}

/** A node's groups in all hierarchies, children before parents. */
function groupsOf(node: string): string[] {
  return hierarchies().flatMap((hierarchy) => descend(join(hierarchy, cgroupRoot(node))));
}

function descend(group: string): string[] {
  if (!existsSync(group)) return [];
  const children = readdirSync(group)
    .map((entry) => join(group, entry))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory());
  return [...children.flatMap(descend), group];
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}
