/** A wait whose time is over; the message says what was waited for and what stood in the way. */
export class WaitTimeout extends Error {
  constructor(message: string) {
    super(message);
    this.name = "WaitTimeout";
  }
}

/** The call was cancelled (Ctrl-C), or a step beside this one failed. */
export class Cancelled extends Error {
  constructor(what: string) {
    super(`cancelled while waiting for ${what}`);
    this.name = "Cancelled";
  }
}

/** What was waited for will not come: the clusters have decided otherwise. */
export class Refused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "Refused";
  }
}
