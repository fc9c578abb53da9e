/** The types of dns-packet that our tests use; the package has none. */
declare module "dns-packet" {
  interface Question {
    readonly type: string;
    readonly name: string;
    readonly class?: string;
  }
  interface Answer extends Question {
    readonly ttl?: number;
    readonly data?: unknown;
    readonly udpPayloadSize?: number;
    readonly flags?: number;
    readonly options?: readonly unknown[];
  }
  interface Packet {
    readonly type?: string;
    readonly id?: number;
    readonly flags?: number;
    readonly flag_tc?: boolean;
    readonly rcode?: string;
    readonly questions?: readonly Question[];
    readonly answers?: readonly Answer[];
    readonly additionals?: readonly Answer[];
  }
  const dnsPacket: {
    encode(packet: Packet): Buffer;
    decode(bytes: Buffer): Packet;
    readonly RECURSION_DESIRED: number;
    readonly RECURSION_AVAILABLE: number;
    readonly TRUNCATED_RESPONSE: number;
  };
  export default dnsPacket;
}
