import { expect } from "chai";
import { parsePacket, unexpectedPackets } from "../../support/capture.js";

const TUNNEL_PORT = 31787;
const API_PORT = 6443;
const LATE = "10:00:00.2 IP 10.0.0.1 > 10.0.0.2: ICMP 10.0.0.1 udp port 37696 unreachable, length 180";

describe("what passes between two clusters", () => {
  function unexpected(...lines: string[]): string[] {
    return unexpectedPackets(lines.map(parsePacket), TUNNEL_PORT, API_PORT).map(({ line }) => line);
  }

  it("is the tunnel's and the API servers', and nothing else", () => {
    const strange = [
      "10:00:00.3 IP 10.0.0.1.5000 > 10.0.0.2.53: UDP, length 40",
      "10:00:00.4 IP 10.0.0.1.5000 > 10.0.0.2.80: tcp 40",
      "10:00:00.5 IP 10.0.0.1 > 10.0.0.2: ICMP echo request, id 1, seq 1, length 64",
      "10:00:00.6 IP 10.0.0.1 > 10.0.0.2: ip-proto-4 60",
    ];
    const expected = [
      `10:00:00.1 IP 10.0.0.2.${TUNNEL_PORT} > 10.0.0.1.37696: UDP, length 144`,
      `10:00:00.2 IP 10.0.0.1.41000 > 10.0.0.2.${API_PORT}: tcp 517`,
    ];
    expect(unexpected(...expected, ...strange)).to.deep.equal(strange);
  });

  it("is the tunnel's, too, where a kernel says that a packet of it came too late", () => {
    const packet = `10:00:00.1 IP 10.0.0.2.${TUNNEL_PORT} > 10.0.0.1.37696: UDP, length 144`;
    expect(unexpected(packet, LATE)).to.deep.equal([]);
  });

  it("is strange where a kernel answers to what was not the tunnel's", () => {
    expect(unexpected(LATE), "no such packet").to.deep.equal([LATE]);
    const toAnother = `10:00:00.1 IP 10.0.0.2.${TUNNEL_PORT} > 10.0.0.1.37697: UDP, length 144`;
    expect(unexpected(toAnother, LATE), "another port").to.deep.equal([LATE]);
    const other = "10:00:00.1 IP 10.0.0.2.5000 > 10.0.0.1.37696: UDP, length 144";
    expect(unexpected(other, LATE), "not from the tunnel").to.deep.equal([other, LATE]);
  });
});
