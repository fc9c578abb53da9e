/**
 * IPv4 networks that do not belong to the public internet, or by which clouds reach their machines: no sandbox reaches them, and nothing that a
 * stranger names is fetched from there. From RFC 6890 and the clouds' documents.
 * Documentation ranges and 198.18.0.0/15 are not here: company networks put their package proxies there.
 */
export const BLOCKED_NETWORKS = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT; Alibaba's metadata service 100.100.100.200
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // Azure's metadata and agent service, on a public address
  "169.254.0.0/16", // link-local; the metadata service of most clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments; Oracle's metadata service 192.0.0.192
  "192.168.0.0/16", // private
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast
] as const;
