import { Labels, Names } from "../../api/index.js";
import { ClusterRoleResource, type KubeClient } from "../../runtime/index.js";

/** The two ClusterRoles that a Tenant is bound to, as this cluster names them. */
export interface TenantRoles {
  controlPlane: string;
  virtualKubeletClusterwide: string;
}

/** Finds them by their `app.kubernetes.io/name` label, once (API specification, §11). */
export class TenantRolesSource {
  private found?: TenantRoles;

  constructor(private readonly client: KubeClient) {}

  async get(): Promise<TenantRoles> {
    this.found ??= {
      controlPlane: await this.find(Names.remoteControlPlaneRole),
      virtualKubeletClusterwide: await this.find(Names.virtualKubeletRemoteClusterwideRole),
    };
    return this.found;
  }

  private async find(usualName: string): Promise<string> {
    const label = usualName.replace(/^liqo-/, "");
    const { items } = await this.client.list(ClusterRoleResource, { labelSelector: { [Labels.appName]: label } });
    const name = items[0]?.metadata?.name;
    if (name) return name;
    throw new Error(
      `cluster ${this.client.cluster}: no ClusterRole is labelled ${Labels.appName}=${label}: the installation is not complete`,
    );
  }
}
