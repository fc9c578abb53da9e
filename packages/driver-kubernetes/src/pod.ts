/** The parts of a pod that the driver reads (Kubernetes API reference, Pod v1). */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly schedulingGates?: readonly { readonly name: string }[];
    readonly containers: readonly { readonly env?: readonly { readonly name: string; readonly value?: string }[] }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}

export interface ContainerStatus {
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: object;
    readonly terminated?: { readonly exitCode: number; readonly reason?: string };
  };
  /** What it runs with. */
  readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
}
