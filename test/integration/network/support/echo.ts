import { once } from "node:events";
import type { Namespace } from "./namespaces.js";

/** Answers each TCP connection and each datagram on the port with "<caller's address> <what was sent>". */
const SERVER = `
const port = Number(process.argv[1]);
const net = require("node:net"), dgram = require("node:dgram");
net.createServer({ allowHalfOpen: true }, (s) => {
  const parts = [];
  s.on("data", (d) => parts.push(d)).on("error", () => {}).on("end", () => s.end(s.remoteAddress + " " + Buffer.concat(parts)));
}).listen(port, "0.0.0.0", () => {
  const u = dgram.createSocket("udp4");
  u.on("message", (m, r) => u.send(r.address + " " + m, r.port, r.address));
  u.bind(port, "0.0.0.0", () => console.log("ready"));
});`;

const CLIENT = `
const [protocol, host, port, size, patience] = process.argv.slice(1);
const text = "x".repeat(Number(size));
const fail = setTimeout(() => { console.log("timeout"); process.exit(0); }, Number(patience));
const done = (t) => { clearTimeout(fail); console.log(t); process.exit(0); };
if (protocol === "tcp") {
  const s = require("node:net").connect(Number(port), host, () => s.end(text));
  let got = "";
  s.on("data", (d) => (got += d)).on("error", (e) => done(e.code)).on("end", () => done(got.split(" ")[0] + " " + (got.split(" ")[1] ?? "").length));
} else {
  const u = require("node:dgram").createSocket("udp4");
  u.on("message", (m) => done(String(m).split(" ")[0] + " " + (String(m).split(" ")[1] ?? "").length));
  const send = () => u.send(text, Number(port), host, () => undefined);
  // A first datagram that is too big for the path is lost, and teaches the sender.
  setInterval(send, 400);
  send();
}`;

/** For an answer that is to come, however much else the machine has to do. */
const PATIENCE_MS = 15_000;
/** For one that is not to come. */
export const SILENCE_MS = 3_000;

export async function echoServer(namespace: Namespace, port: number): Promise<void> {
  const child = namespace.start(process.execPath, ["-e", SERVER, String(port)]);
  await Promise.race([
    once(child.stdout ?? child, "data"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`the echo server ended with ${code}`))),
  ]);
}

/** The address that the server saw and how many bytes came back, such as "10.0.0.1 5"; "timeout" when nothing has for so long. */
export async function call(
  namespace: Namespace,
  protocol: "tcp" | "udp",
  host: string,
  port: number,
  size = 5,
  patienceMs = PATIENCE_MS,
): Promise<string> {
  const args = [protocol, host, port, size, patienceMs].map(String);
  return (await namespace.run(process.execPath, ["-e", CLIENT, ...args])).trim();
}
