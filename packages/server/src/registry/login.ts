/** Credentials for a registry as a build's `fromImageRegistry` carries them (docs/contract/templates.md). Never logged, never kept. */
export type RegistryCredentials =
  | { readonly type: "registry"; readonly username: string; readonly password: string }
  | { readonly type: "aws"; readonly awsAccessKeyId: string; readonly awsSecretAccessKey: string; readonly awsRegion: string }
  | { readonly type: "gcp"; readonly serviceAccountJson: string };

export interface Login {
  readonly username: string;
  readonly password: string;
}
