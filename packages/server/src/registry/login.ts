/** Credentials for a registry, as in a build's `fromImageRegistry` (docs/contract/templates.md). Never logged or stored. */
export type RegistryCredentials =
  | { readonly type: "registry"; readonly username: string; readonly password: string }
  | { readonly type: "aws"; readonly awsAccessKeyId: string; readonly awsSecretAccessKey: string; readonly awsRegion: string }
  | { readonly type: "gcp"; readonly serviceAccountJson: string };

export interface Login {
  readonly username: string;
  readonly password: string;
}
