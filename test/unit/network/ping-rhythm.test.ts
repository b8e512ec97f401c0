import { expect } from "chai";
import { SILENCE_MS } from "../../../agent/gateway/peer-keeper.js";
import { PingRhythm, type PingRhythmOptions } from "../../../agent/gateway/ping-rhythm.js";

/** A serving gateway's, by default. */
const SERVER = { intervalMs: 2_000, lossThreshold: 5, random: () => 0 };
const MINUTE = 60_000;
const ROUND_TRIP_MS = 1;

interface Course {
  pings: number[];
  lostAt: number[];
  isConnected: boolean;
}

/** Pings until a moment over a link that is there at times. */
function follow(options: PingRhythmOptions, until: number, isUp: (moment: number) => boolean): Course {
  const rhythm = new PingRhythm(options);
  const [pings, lostAt]: [number[], number[]] = [[], []];
  rhythm.begin(0);
  let now = 0;
  while (now < until) {
    if (rhythm.ask(now)) lostAt.push(now);
    pings.push(now);
    const pause = rhythm.pauseMs(now);
    if (isUp(now)) rhythm.hear(now + ROUND_TRIP_MS);
    now += pause;
  }
  return { pings, lostAt, isConnected: rhythm.isConnected };
}

/** Between 0 and 1, the same in each run. */
function drawn(): () => number {
  let state = 1;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

describe("the rhythm of pings", () => {
  it("does not take a link for lost that is down at the pace of the pings, and up in between", () => {
    for (const [random, phase] of [0, 250, 500, 750].flatMap((at) =>
      [drawn(), () => 0].map((of) => [of, at] as const),
    )) {
      const isUp = (moment: number): boolean => moment < 100 || (moment + phase) % 2_000 >= 1_000;
      const { lostAt, isConnected } = follow({ ...SERVER, random }, 10 * MINUTE, isUp);
      expect({ lostAt, isConnected }).to.deep.equal({ lostAt: [], isConnected: true });
    }
  });

  it("finds out that a link is down but for the moments of the pings", () => {
    // The first that is heard is the second, after 200 ms.
    const isUp = (moment: number): boolean => (moment - 200) % 2_000 < 50;
    expect(follow(SERVER, 5 * MINUTE, isUp).lostAt).to.deep.equal([]);
    expect(follow({ ...SERVER, random: drawn() }, 5 * MINUTE, isUp).lostAt).to.not.deep.equal([]);
  });

  it("asks a peer that has fallen silent again and again before it counts as lost, and not much longer", () => {
    const { pings, lostAt } = follow(SERVER, MINUTE, (moment) => moment <= 20_000);
    const [verdict = NaN] = lostAt;
    const lastHeard = Math.max(...pings.filter((moment) => moment <= 20_000));
    expect(verdict - lastHeard).to.be.within(10_000, 10_501);
    expect(lostAt).to.have.length(1);
    expect(pings.filter((moment) => moment > lastHeard && moment < verdict)).to.have.length.at.least(12);
  });

  it("of a client tells soon that a session is dead, by several pings all the same", () => {
    const rests = 20_000;
    for (const random of [() => 0, drawn()]) {
      const client = { ...SERVER, connectedIntervalMs: 500, random };
      const { pings } = follow(client, MINUTE, (moment) => moment <= rests);
      const lastHeard = Math.max(...pings.filter((moment) => moment <= rests)) + ROUND_TRIP_MS;
      const unanswered = pings.filter((moment) => moment > lastHeard).map((moment) => moment - lastHeard);
      // The first look at a session that has been silent for long only tells from what on to count.
      const [, restart = Infinity] = unanswered.filter((silence) => silence > SILENCE_MS);
      expect(restart).to.be.below(1_500);
      expect(unanswered.filter((silence) => silence < restart)).to.have.length.at.least(3);
    }
  });

  it("leaves a peer that answers in peace: no more than a ping in four fifths of the interval", () => {
    const { pings } = follow({ ...SERVER, random: drawn() }, 10 * MINUTE, () => true);
    expect(pings.length).to.be.within(300, 376);
    const client = follow({ ...SERVER, connectedIntervalMs: 500, random: drawn() }, 10 * MINUTE, () => true);
    expect(client.pings.length).to.be.within(1_200, 1_501);
  });

  it("asks often at first, judges in time where nobody ever answers, and is patient then", () => {
    const { pings, lostAt } = follow(SERVER, 5 * MINUTE, () => false);
    expect(lostAt).to.deep.equal([10_001]);
    expect(pings.filter((moment) => moment < MINUTE).length).to.be.within(295, 305);
    expect(pings.filter((moment) => moment >= 2 * MINUTE && moment < 3 * MINUTE)).to.have.length(60);
  });

  it("takes a peer for there with its first answer, and anew after each beginning", () => {
    const rhythm = new PingRhythm(SERVER);
    rhythm.begin(0);
    rhythm.ask(0);
    expect(rhythm.isConnected).to.equal(false);
    rhythm.hear(5);
    expect(rhythm.isConnected).to.equal(true);
    rhythm.begin(1_000_000);
    expect([rhythm.isConnected, rhythm.silenceMs(1_000_001), rhythm.ask(1_000_002)]).to.deep.equal([false, 1, false]);
  });
});
