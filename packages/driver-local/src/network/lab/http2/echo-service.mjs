// A service of gRPC without generated code: messages are texts of the well-known types.
import { create, createFileRegistry } from "@bufbuild/protobuf";
import { FieldDescriptorProtoSchema, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

const message = {
  name: "Text",
  field: [create(FieldDescriptorProtoSchema, { name: "text", number: 1, type: 9, label: 1, jsonName: "text" })],
};
const method = (name, clientStreaming, serverStreaming) => ({
  name,
  inputType: ".lab.Text",
  outputType: ".lab.Text",
  clientStreaming,
  serverStreaming,
});
const file = create(FileDescriptorProtoSchema, {
  name: "lab.proto",
  package: "lab",
  syntax: "proto3",
  messageType: [message],
  service: [{ name: "Echo", method: [method("Say", false, false), method("Count", false, true), method("Talk", true, true)] }],
});
const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [file] }));

/** `Say` answers once, `Count` with a stream, `Talk` with a stream to a stream. */
export const Echo = registry.getService("lab.Echo");
