import { addField, emptyFields, type FieldList, type RequestFields } from "@boxyard/http1";
import type { Edit } from "../transform.ts";
import { editedParts, masksOf } from "../transform.ts";

/** Coding of messages in a stream of gRPC: the same as of whole answers, which could not be searched for secrets. */
const GRPC_CODING = "grpc-accept-encoding";

/** A request as its server gets it: with what the rules of its host set, and with secrets in place of their placeholders. */
export function editedFields(request: RequestFields, host: string, edit: Edit): FieldList {
  const { target, drops, set, edited } = editedParts(request, edit);
  const isMasked = masksOf(edit).length > 0;
  const list = emptyFields();
  Object.assign(list, { ":method": request.method, ":scheme": "https", ":authority": host, ":path": target });
  for (const [name, value] of request.fields)
    if (!drops.has(name) && !(isMasked && name === GRPC_CODING)) addField(list, name, edited(name, value));
  for (const [name, value] of set) addField(list, name.toLowerCase(), value);
  return list;
}
