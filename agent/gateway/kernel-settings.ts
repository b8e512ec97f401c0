import { writeFile } from "node:fs/promises";
import { messageOf } from "../runtime/index.js";

const SETTINGS = {
  "net/ipv4/ip_forward": "1",
  // Answers to remapped addresses leave by other devices than the kernel would choose for their sources.
  "net/ipv4/conf/all/rp_filter": "0",
  "net/ipv4/conf/default/rp_filter": "0",
  // A remote pod's real address may equal this pod's own, where both clusters use the same range.
  "net/ipv4/conf/all/accept_local": "1",
  "net/ipv4/conf/default/accept_local": "1",
};

/** Of connections that another replica has served until now only the middle is seen. They matter to those alone, so their lack is no failure. */
const OPTIONAL_SETTINGS = {
  "net/netfilter/nf_conntrack_tcp_loose": "1",
  "net/netfilter/nf_conntrack_tcp_be_liberal": "1",
};

/** Makes the pod's network namespace a router. */
export async function applyKernelSettings(): Promise<void> {
  for (const [name, value] of Object.entries(SETTINGS)) {
    try {
      await writeFile(`/proc/sys/${name}`, value);
    } catch (error) {
      throw new Error(
        `cannot set ${name.replaceAll("/", ".")}: ${messageOf(error)}; the gateway's container must be privileged`,
        {
          cause: error,
        },
      );
    }
  }
  for (const [name, value] of Object.entries(OPTIONAL_SETTINGS)) {
    await writeFile(`/proc/sys/${name}`, value).catch(() => undefined);
  }
}
