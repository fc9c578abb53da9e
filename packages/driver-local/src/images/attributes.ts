/** Which extended attributes of a file belong to a layer, and how the ids in them change. Values are the kernel's raw bytes. */

export const OPAQUE = "trusted.overlay.opaque";
export const CAPABILITY = "security.capability";
const ACLS = ["system.posix_acl_access", "system.posix_acl_default"];

export const isAcl = (name: string): boolean => ACLS.includes(name);
/** Attributes that go into and out of layers. Never `trusted.*`: overlay acts on these. */
export const isKept = (name: string): boolean => name === CAPABILITY || isAcl(name) || (name.startsWith("user.") && name.length > 5);

const REVISION_MASK = 0xff000000;
const REVISION_2 = 0x02000000;
const REVISION_3 = 0x03000000;
const BYTES_2 = 20;
const BYTES_3 = 24;

/**
 * File capabilities in revision 2, which is independent of user namespaces, made from revision 2, or from revision 3 with root `rootId`. Undefined
 * for anything else (linux/capability.h, struct vfs_ns_cap_data): such capabilities have no effect outside their user namespace.
 */
export function plainCapability(value: Uint8Array, rootId = 0): Uint8Array | undefined {
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  if (value.length < 4) return undefined;
  const magic = view.getUint32(0, true);
  const revision = (magic & REVISION_MASK) >>> 0;
  if (revision === REVISION_2 && value.length === BYTES_2) return value;
  if (revision !== REVISION_3 || value.length !== BYTES_3) return undefined;
  const root = view.getUint32(20, true);
  if (root !== rootId && root !== 0) return undefined;
  const plain = value.slice(0, BYTES_2);
  new DataView(plain.buffer).setUint32(0, (magic & ~REVISION_MASK) | REVISION_2, true);
  return plain;
}

const ACL_USER = 0x02;
const ACL_GROUP = 0x08;

/** An ACL with `shift` applied to the users and groups that it names (linux/posix_acl_xattr.h). Undefined when it is malformed. */
export function shiftedAcl(value: Uint8Array, shift: (id: number) => number): Uint8Array | undefined {
  if (value.length < 4 || (value.length - 4) % 8 !== 0) return undefined;
  const copy = value.slice();
  const view = new DataView(copy.buffer);
  if (view.getUint32(0, true) !== 2) return undefined;
  for (let at = 4; at < copy.length; at += 8) {
    const tag = view.getUint16(at, true);
    if (tag === ACL_USER || tag === ACL_GROUP) view.setUint32(at + 4, shift(view.getUint32(at + 4, true)), true);
  }
  return copy;
}
